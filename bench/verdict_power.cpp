// How small an error the comparator sees: the smallest factor 1 + s on all elements of an output that is
// caught, on exact data of a normal distribution, with a kernel radius of given relative size of which a
// tenth is systematic. Prints the table of docs/verdicts.md.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tests/conformance/synthetic_output.h"

namespace mhcheck::conformance {
namespace {

using testing::gaussian_output;
using testing::SyntheticOutput;

struct Seen {
  bool by_membership = false;
  bool by_aggregates = false;  // over the tensor: what a token's aggregate sees, membership has seen
};

Seen judge_scaled(SyntheticOutput& output, double factor) {
  output.store_all([&](std::size_t, double value) { return value * factor; });
  const OutputVerdict verdict = output.judge();
  Seen seen;
  for (const Finding& finding : verdict.findings) {
    if (finding.kind != FailureKind::wrong_aggregate) seen.by_membership = true;
  }
  const Aggregates& a = verdict.aggregates;
  seen.by_aggregates = std::fabs(a.scale.value) > a.scale.tolerance || !a.signs.conforms();
  return seen;
}

// The smallest s of a grid of eight steps a decade from which on every s is seen, of both signs.
std::pair<double, double> smallest_seen(SyntheticOutput& output) {
  double membership = std::numeric_limits<double>::infinity(), aggregates = membership;
  bool by_membership = true, by_aggregates = true;
  for (int step = -8; step >= -64 && (by_membership || by_aggregates); --step) {
    const double s = std::pow(10.0, step / 8.0);
    const Seen up = judge_scaled(output, 1 + s), down = judge_scaled(output, 1 - s);
    by_membership = by_membership && up.by_membership && down.by_membership;
    by_aggregates = by_aggregates && up.by_aggregates && down.by_aggregates;
    if (by_membership) membership = s;
    if (by_aggregates) aggregates = s;
  }
  return {membership, aggregates};
}

}  // namespace
}  // namespace mhcheck::conformance

int main() {
  using namespace mhcheck;
  using namespace mhcheck::conformance;
  fmt::print(
      "| dtype | tokens | row | kernel radius | an element | the tensor |\n| --- | --- | --- | --- | --- | "
      "--- |\n");
  for (const Dtype dtype : kAllDtypes) {
    for (const double radius : {3e-7, 3e-6, 1e-4}) {
      for (const auto& [tokens, row] : {std::pair<int, int>{1, 512}, {1, 7168}, {128, 7168}, {1024, 512}}) {
        SyntheticOutput output = gaussian_output(dtype, tokens, row, radius);
        const auto [membership, aggregates] = smallest_seen(output);
        fmt::print("| {} | {} | {} | {:.0e} | {:.1e} | {:.1e} |\n", name_of(dtype), tokens, row, radius,
                   membership, aggregates);
      }
    }
  }
}
