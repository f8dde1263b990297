// How small an error the suite sees with certainty: for each operator, at each production hidden size, the
// smallest bias, the fewest terms left out of a long sum, and the smallest change of an eps.
//
//   power PLOT.svg
//
// prints the tables of docs/power.md and writes its plot. Exits with 1 when a right kernel does not conform.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <tuple>
#include <vector>

#include "bench/power/plot.h"
#include "bench/power/smallest.h"
#include "golden/atomic_file.h"

namespace mhcheck::power {
namespace {

// A size is certain when it is seen in this many cases that differ in their seed, all of them.
constexpr std::uint64_t kSeeds = 20;

struct Shape {
  std::int64_t hidden_size, num_tokens;
};
constexpr Shape kProduction[] = {{1280, 8}, {2560, 8}, {4096, 8}, {5120, 8}, {7168, 8}};
// What more tokens bring.
constexpr Shape kBatches[] = {{1280, 1}, {1280, 8}, {1280, 64}, {1280, 512}};
constexpr Op kOfBatches[] = {Op::mhc_pre, Op::mhc_pre_gemm_sqrsum};

struct Measured {
  Fault fault;
  std::vector<std::optional<Smallest>> smallest;  // one a shape
  std::vector<char> left_out_seen;                // of an eps: is leaving it out seen?
};

// At one shape, faults that are judged at the same cases.
void measure_together(std::span<Measured* const> group, const Shape& shape, std::size_t column) {
  std::vector<AnsweredCase> cases;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    cases.emplace_back(case_of(group.front()->fault, shape.hidden_size, shape.num_tokens, seed));
  }
  for (Measured* one : group) {
    one->smallest[column] = smallest_seen(one->fault, cases, sizes_of(one->fault, shape.hidden_size));
    if (one->fault.kind == Kind::eps) {
      one->left_out_seen[column] = always_seen(one->fault, cases, /*signed_size=*/-1);
    }
  }
}

std::vector<Measured> measure(std::vector<Fault> faults, std::span<const Shape> shapes) {
  std::vector<Measured> all;
  for (Fault& fault : faults) {
    all.push_back({std::move(fault), std::vector<std::optional<Smallest>>(shapes.size()),
                   std::vector<char>(shapes.size())});
  }
  std::map<std::tuple<Op, std::string_view, bool>, std::vector<Measured*>> by_cases;
  for (Measured& one : all) {
    by_cases[{one.fault.op, one.fault.regime, one.fault.normed}].push_back(&one);
  }
  std::vector<std::span<Measured* const>> groups;
  for (const auto& [cases, group] : by_cases) groups.emplace_back(group);
  tbb::parallel_for(std::size_t{0}, groups.size() * shapes.size(), [&](std::size_t task) {
    const std::size_t column = task % shapes.size();
    // Isolated: a thread that waits inside a kernel must not take up another task, and its cases, meanwhile.
    tbb::this_task_arena::isolate(
        [&] { measure_together(groups[task / shapes.size()], shapes[column], column); });
  });
  return all;
}

std::string cell(const Fault& fault, const std::optional<Smallest>& smallest, std::int64_t hidden_size) {
  if (!smallest) return "not seen";
  if (fault.kind == Kind::share) return fmt::format("{} of {}", smallest->size, terms_of(fault, hidden_size));
  return fmt::format("{:.1e}{}", smallest->size, smallest->how == Seen::by_tensor ? " \\*" : "");
}

void print_table(std::span<const Measured> measured, Kind kind, std::string_view heading,
                 std::span<const Shape> shapes, std::span<const std::string> columns) {
  std::vector<std::string> heads{"operator", std::string(heading), "inputs"};
  heads.insert(heads.end(), columns.begin(), columns.end());
  if (kind == Kind::eps) heads.push_back("left out");
  fmt::print("| {} |\n| {} |\n", fmt::join(heads, " | "),
             fmt::join(std::vector<std::string>(heads.size(), "---"), " | "));
  for (const Measured& one : measured) {
    if (one.fault.kind != kind) continue;
    fmt::print("| `{}` | `{}` | {} |", row_of(one.fault.op).name, one.fault.what, one.fault.regime);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      fmt::print(" {} |", cell(one.fault, one.smallest[i], shapes[i].hidden_size));
    }
    if (kind == Kind::eps) {
      const bool seen = std::ranges::all_of(one.left_out_seen, [](char seen_here) { return seen_here != 0; });
      fmt::print(" {} |", seen ? "seen" : "not always");
    }
    fmt::print("\n");
  }
  fmt::print("\n");
}

PlotGroup plot_group(std::span<const Measured> measured, Kind kind, std::string heading) {
  PlotGroup group{std::move(heading), {}};
  for (const Measured& one : measured) {
    if (one.fault.kind != kind) continue;
    PlotGroup::Line line{
        fmt::format("{} {}, {}", row_of(one.fault.op).name, one.fault.what, one.fault.regime), {}};
    for (std::size_t i = 0; i < std::size(kProduction); ++i) {
      const std::int64_t hidden = kProduction[i].hidden_size;
      std::optional<PlotDot> dot;
      if (one.smallest[i]) {
        const double size = one.smallest[i]->size;
        dot = {kind == Kind::share ? size / static_cast<double>(terms_of(one.fault, hidden)) : size,
               fmt::format("hidden_size {}: {}", hidden, cell(one.fault, one.smallest[i], hidden))};
      }
      line.dots.push_back(std::move(dot));
    }
    group.lines.push_back(std::move(line));
  }
  return group;
}

void run(const std::string& plot_path) {
  golden::AtomicFile plot_file(plot_path);
  std::vector<Fault> faults, of_batches;
  for (const OperatorRow& row : all_operators()) {
    for (Fault& fault : faults_of(row.op)) faults.push_back(std::move(fault));
  }
  for (const Op op : kOfBatches) {
    for (Fault& fault : faults_of(op)) {
      if (fault.kind == Kind::bias) of_batches.push_back(std::move(fault));
    }
  }

  const std::vector<Measured> measured = measure(std::move(faults), kProduction);
  std::vector<std::string> hidden_sizes, token_counts;
  for (const Shape& shape : kProduction) hidden_sizes.push_back(fmt::to_string(shape.hidden_size));
  for (const Shape& shape : kBatches) {
    token_counts.push_back(fmt::format("{} token{}", shape.num_tokens, shape.num_tokens == 1 ? "" : "s"));
  }
  print_table(measured, Kind::bias, "output", kProduction, hidden_sizes);
  print_table(measured, Kind::share, "sum", kProduction, hidden_sizes);
  print_table(measured, Kind::eps, "eps", kProduction, hidden_sizes);
  print_table(measure(std::move(of_batches), kBatches), Kind::bias, "output", kBatches, token_counts);

  const PlotGroup groups[] = {
      plot_group(measured, Kind::bias, "relative bias of an output"),
      plot_group(measured, Kind::share, "share of a sum's terms left out"),
      plot_group(measured, Kind::eps, "relative change of an eps"),
  };
  plot_file.write(std::string_view(plot(groups, hidden_sizes)));
  plot_file.commit();
}

}  // namespace
}  // namespace mhcheck::power

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: power PLOT.svg\n");
    return 2;
  }
  try {
    mhcheck::power::run(argv[1]);
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    fmt::print(stderr, "power: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
