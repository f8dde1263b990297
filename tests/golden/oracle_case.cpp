#include "tests/golden/oracle_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace mhcheck::golden {
namespace {

template <class Number>
Number number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw std::runtime_error(fmt::format("{} is not a number", text));
  }
  return value;
}

template <class Value>
struct Spelling {
  std::string_view text;
  Value value;
};

template <class Value>
Value spelled(std::string_view text, std::initializer_list<Spelling<Value>> spellings) {
  for (const Spelling<Value>& spelling : spellings) {
    if (spelling.text == text) return spelling.value;
  }
  throw std::runtime_error(fmt::format("{} is not known", text));
}

std::optional<Dtype> storage_dtype(FileDtype dtype) {
  for (const Dtype candidate : kAllDtypes) {
    if (file_dtype_of(candidate) == dtype) return candidate;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::filesystem::path> oracle_files() {
  const char* folder = std::getenv("MHCHECK_ORACLE_DIR");
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder != nullptr ? folder : MHCHECK_ORACLE_DATA)) {
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

OracleCase read_oracle_case(SafetensorsReader& reader) {
  const auto field = [&](const std::string& key) -> const std::string& { return reader.metadata().at(key); };
  OracleCase oracle;
  Problem& p = oracle.problem;
  p.op = op_from_name(field("op")).value();
  p.dtype = spelled<Dtype>(field("dtype"), {{"BF16", Dtype::bf16}, {"F16", Dtype::fp16}});
  p.num_tokens = number<std::int64_t>(field("num_tokens"));
  p.hc_mult = number<int>(field("hc_mult"));
  p.hidden_size = number<std::int64_t>(field("hidden_size"));
  p.entry =
      spelled<Entry>(field("entry"),
                     {{"carried", Entry::carried}, {"entry", Entry::entry}, {"broadcast", Entry::broadcast}});
  p.parameters = {.rms_eps = number<float>(field("rms_eps")),
                  .hc_pre_eps = number<float>(field("hc_pre_eps")),
                  .hc_sinkhorn_eps = number<float>(field("hc_sinkhorn_eps")),
                  .norm_eps = number<float>(field("norm_eps")),
                  .hc_post_mult_value = number<float>(field("hc_post_mult_value")),
                  .sinkhorn_repeat = number<int>(field("sinkhorn_repeat"))};
  // Without a fused rmsnorm nothing depends on where the collapse rounds.
  oracle.profile.collapse =
      spelled<CollapseRounding>(field("rounding"), {{"none", CollapseRounding::storage},
                                                    {"storage", CollapseRounding::storage},
                                                    {"fp32_sumsq", CollapseRounding::fp32_sumsq},
                                                    {"fp32", CollapseRounding::fp32}});
  oracle.profile.next_residual =
      spelled<NextResidual>(field("next_residual"), {{"rounded", NextResidual::rounded},
                                                     {"unrounded", NextResidual::unrounded},
                                                     {"fp32_sumsq", NextResidual::fp32_sumsq}});

  for (const auto& [name, stored] : reader.tensors()) {
    if (!name.starts_with("in.")) continue;
    oracle.inputs.emplace(name.substr(3), reader.read(name));
    if (name == "in.norm_weight") p.norm_weight = storage_dtype(stored.dtype).value();
    if (name == "in.gemm_out_mul") p.split_k = static_cast<int>(stored.shape.at(0));
  }
  return oracle;
}

}  // namespace mhcheck::golden
