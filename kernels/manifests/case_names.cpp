#include "kernels/manifests/manifest.h"

namespace mhcheck::kernels {
namespace {

constexpr std::int64_t kNoNorm = -1;

template <class Enumerator>
std::int64_t number_of(Enumerator enumerator) {
  return static_cast<std::int64_t>(enumerator);
}

}  // namespace

Names names_of(const Problem& problem, int num_cus) {
  const Parameters& parameters = problem.parameters;
  return {
      {"num_tokens", problem.num_tokens},
      {"hc_mult", std::int64_t{problem.hc_mult}},
      {"hidden_size", problem.hidden_size},
      {"hc_mult3", problem.hc_mult3()},
      {"hc_hidden_size", problem.hc_hidden_size()},
      {"split_k", std::int64_t{problem.split_k}},
      {"num_cus", std::int64_t{num_cus}},
      {"sinkhorn_repeat", std::int64_t{parameters.sinkhorn_repeat}},
      {"rms_eps", double{parameters.rms_eps}},
      {"hc_pre_eps", double{parameters.hc_pre_eps}},
      {"hc_sinkhorn_eps", double{parameters.hc_sinkhorn_eps}},
      {"norm_eps", double{parameters.norm_eps}},
      {"hc_post_mult_value", double{parameters.hc_post_mult_value}},
      // To be compared with the names below: `dtype == bf16`, `norm_weight == none`, `entry == broadcast`.
      {"dtype", number_of(problem.dtype)},
      {"norm_weight", problem.norm_weight ? number_of(*problem.norm_weight) : kNoNorm},
      {"entry", number_of(problem.entry)},
      {"bf16", number_of(Dtype::bf16)},
      {"fp16", number_of(Dtype::fp16)},
      {"fp32", number_of(Dtype::fp32)},
      {"none", kNoNorm},
      {"carried", number_of(Entry::carried)},
      {"first", number_of(Entry::entry)},
      {"broadcast", number_of(Entry::broadcast)},
  };
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& [name, value] : names_of(Problem{}, /*num_cus=*/1)) names.push_back(name);
  return names;
}

}  // namespace mhcheck::kernels
