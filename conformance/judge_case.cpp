#include "conformance/judge_case.h"

#include <fmt/format.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "properties/regimes.h"

namespace mhcheck::conformance {
namespace {

constexpr std::int64_t kBlockTokens = reference::Reference::kBlockTokens;

// Blocks that are evaluated but not yet judged take at most about this much memory together.
constexpr std::size_t kBytesInFlight = std::size_t{512} << 20;

struct JudgedBlock {
  std::vector<OutputJudge::Tally> tallies;
  reference::Certification certification;
};

std::size_t bytes_of_block(const Problem& problem) {
  constexpr std::size_t bytes_an_element = 4 * sizeof(double) + sizeof(std::uint32_t);
  std::size_t elements = 0;
  for (const TensorSpec& spec : output_specs(problem)) elements += element_count(spec.shape);
  if (problem.num_tokens > kBlockTokens) {
    elements =
        elements / static_cast<std::size_t>(problem.num_tokens) * static_cast<std::size_t>(kBlockTokens);
  }
  return elements * bytes_an_element + 1;
}

}  // namespace

Judgement judge_outputs(const Case& c, const TensorMap& inputs, const StoredOutputs& stored,
                        Threads threads) {
  const properties::Regime* regime = properties::find_regime(c.regime);
  if (regime == nullptr) throw std::invalid_argument(fmt::format("no regime is called '{}'", c.regime));
  const bool independent = regime->independent_roundings;
  const reference::Reference reference(c.problem, c.profile, inputs, {.independent_roundings = independent});

  const std::int64_t num_tokens = c.problem.num_tokens;
  std::vector<OutputJudge> judges;
  for (const TensorSpec& spec : output_specs(c.problem)) {
    const auto found = stored.find(std::string(spec.name));
    if (found == stored.end()) throw std::invalid_argument(fmt::format("output {} is missing", spec.name));
    judges.emplace_back(spec, num_tokens, found->second, independent);
  }

  const auto judge_block = [&](std::int64_t first) {
    const reference::Block block = reference.evaluate(first, std::min(kBlockTokens, num_tokens - first));
    JudgedBlock judged{.tallies = {}, .certification = block.certification};
    for (std::size_t i = 0; i < judges.size(); ++i)
      judged.tallies.push_back(judges[i].judge(block, block.outputs[i]));
    return judged;
  };

  std::vector<OutputJudge::Tally> totals(judges.size());
  reference::Certification certification;
  const auto merge = [&](const JudgedBlock& judged) {
    for (std::size_t i = 0; i < totals.size(); ++i) totals[i].merge(judged.tallies[i]);
    certification += judged.certification;
  };

  if (threads == Threads::one || num_tokens <= kBlockTokens) {
    for (std::int64_t first = 0; first < num_tokens; first += kBlockTokens) merge(judge_block(first));
  } else {
    const auto fitting = kBytesInFlight / bytes_of_block(c.problem);
    const auto wanted = 2 * static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
    std::int64_t next = 0;
    tbb::parallel_pipeline(
        std::clamp<std::size_t>(fitting, 1, wanted),
        tbb::make_filter<void, std::int64_t>(tbb::filter_mode::serial_in_order,
                                             [&](tbb::flow_control& flow) {
                                               const std::int64_t first = next;
                                               next += kBlockTokens;
                                               if (first >= num_tokens) flow.stop();
                                               return first;
                                             }) &
            tbb::make_filter<std::int64_t, std::shared_ptr<JudgedBlock>>(
                tbb::filter_mode::parallel,
                [&](std::int64_t first) { return std::make_shared<JudgedBlock>(judge_block(first)); }) &
            // In block order, so that sums and the first of equals are the same for any number of threads.
            tbb::make_filter<std::shared_ptr<JudgedBlock>, void>(
                tbb::filter_mode::serial_in_order,
                [&](const std::shared_ptr<JudgedBlock>& judged) { merge(*judged); }));
  }

  Judgement judgement{.outputs = {}, .certification = certification};
  for (std::size_t i = 0; i < judges.size(); ++i) judgement.outputs.push_back(judges[i].verdict(totals[i]));
  return judgement;
}

}  // namespace mhcheck::conformance
