#include "bench/power/answered_case.h"

#include <algorithm>

#include "conformance/verdict.h"
#include "properties/regimes.h"

namespace mhcheck::power {

AnsweredCase::AnsweredCase(const Case& c)
    : case_(c),
      inputs_(properties::make_inputs(c)),
      independent_tokens_(properties::find_regime(c.regime)->independent_roundings) {
  const reference::Reference reference(case_.problem, case_.profile, inputs_,
                                       {.independent_roundings = independent_tokens_});
  block_ = reference.evaluate(0, case_.problem.num_tokens);
}

Seen AnsweredCase::judge(std::size_t output, std::span<const std::byte> payload) const {
  const TensorSpec spec = output_specs(case_.problem)[output];
  const conformance::OutputJudge judge(spec, case_.problem.num_tokens, payload, independent_tokens_);
  const conformance::OutputVerdict verdict = judge.verdict(judge.judge(block_, block_.outputs[output]));
  if (verdict.conforms()) return Seen::no;
  const bool by_tensor = std::ranges::all_of(verdict.findings, [](const conformance::Finding& finding) {
    return finding.kind == conformance::FailureKind::wrong_aggregate;
  });
  return by_tensor ? Seen::by_tensor : Seen::by_element;
}

Seen AnsweredCase::judge(const kernels::OutputRegions& outputs) const {
  Seen seen = Seen::no;
  const std::vector<TensorSpec> specs = output_specs(case_.problem);
  for (std::size_t i = 0; i < specs.size() && seen != Seen::by_element; ++i) {
    seen = std::max(seen, judge(i, outputs.at(std::string(specs[i].name)).payload()));
  }
  return seen;
}

}  // namespace mhcheck::power
