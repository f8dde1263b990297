#include "properties/case_classes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

#include "properties/production_sizes.h"
#include "properties/regimes.h"

namespace mhcheck::properties {
namespace {

using Class = std::optional<std::string_view>;

constexpr bool always(const OperatorRow&) { return true; }

std::string_view tokens_class(std::int64_t tokens) {
  if (tokens == 0) return "0";
  if (tokens == 1) return "1";
  if (tokens >= 256) return "256 and more";
  if (tokens % kTile == 0) return "whole tiles";
  if (tokens % kTile == 1 || tokens % kTile == kTile - 1) return "beside a tile";
  return "ragged";
}

std::string_view hidden_class(std::int64_t hidden) {
  if (std::ranges::find(kProductionHiddenSizes, hidden) != kProductionHiddenSizes.end()) return "production";
  if (hidden < kSweepFirst) return "below 512";
  if (hidden > kSweepLast) return "above 7168";
  if (hidden % kWave == 0) return "whole waves";
  return hidden % 2 == 0 ? "even" : "odd";
}

constexpr std::array<std::string_view, kMaxHcMult> kStreamCounts{"1", "2", "3", "4", "5", "6", "7", "8"};

const std::vector<std::string_view> kNumberClasses{"0", "1e-20", "1e-6", "1e-2", "other"};

std::string_view number_class(float eps) {
  if (eps == 0) return "0";
  if (eps == 1e-20f) return "1e-20";
  if (eps == 1e-6f) return "1e-6";
  if (eps == 1e-2f) return "1e-2";
  return "other";
}

// The class of a parameter, where the case's operator has it.
template <ParameterBit Bit, float Parameters::*Value>
Class epsilon_class(const Case& c) {
  if ((row_of(c.problem.op).parameters & Bit) == 0) return std::nullopt;
  return number_class(c.problem.parameters.*Value);
}

template <ParameterBit Bit>
bool has(const OperatorRow& row) {
  return (row.parameters & Bit) != 0;
}

std::string_view repeat_class(int repeat) {
  switch (repeat) {
    case 0:
      return "0";
    case 1:
      return "1";
    case 2:
      return "2";
    case 20:
      return "20";
    case 50:
      return "50";
    default:
      return "other";
  }
}

std::string_view mult_class(float mult) {
  if (mult == 2) return "2";
  if (mult == 1) return "1";
  return mult == 0 ? "0" : mult < 0 ? "negative" : "other";
}

bool is_split(const OperatorRow& row) { return row.splits || row.projection; }

std::string_view split_class(int splits) {
  if (splits == 1) return "1";
  return std::has_single_bit(static_cast<unsigned>(splits)) ? "power of two" : "other";
}

std::string_view name_of(Entry entry) {
  switch (entry) {
    case Entry::carried:
      return "carried";
    case Entry::entry:
      return "entry";
    case Entry::broadcast:
      return "broadcast";
  }
  return "?";
}

template <class Rows, class Name>
std::vector<std::string_view> names(const Rows& rows, Name name) {
  std::vector<std::string_view> all;
  for (const auto& row : rows) all.push_back(std::invoke(name, row));
  return all;
}

std::vector<Axis> axes() {
  return {
      {"operator", names(all_operators(), &OperatorRow::name), always,
       [](const Case& c) -> Class { return row_of(c.problem.op).name; }},
      {"dtype",
       {"bf16", "fp16"},
       always,
       [](const Case& c) -> Class { return mhcheck::name_of(c.problem.dtype); }},
      {"regime", names(all_regimes(), &Regime::name), always,
       [](const Case& c) -> Class { return find_regime(c.regime)->name; }},
      {"num_tokens",
       {"0", "1", "ragged", "beside a tile", "whole tiles", "256 and more"},
       always,
       [](const Case& c) -> Class { return tokens_class(c.problem.num_tokens); }},
      {"hidden_size",
       {"below 512", "odd", "even", "whole waves", "production", "above 7168"},
       [](const OperatorRow& row) { return row.op != Op::sinkhorn; },
       [](const Case& c) -> Class {
         if (c.problem.op == Op::sinkhorn) return std::nullopt;
         return hidden_class(c.problem.hidden_size);
       }},
      {"hc_mult", names(kStreamCounts, std::identity()), [](const OperatorRow& row) { return row.streams; },
       [](const Case& c) -> Class {
         if (!row_of(c.problem.op).streams) return std::nullopt;
         return kStreamCounts[static_cast<std::size_t>(c.problem.hc_mult - 1)];
       }},
      {"norm_weight",
       {"none", "bf16", "fp16", "fp32"},
       [](const OperatorRow& row) { return row.fused_norm; },
       [](const Case& c) -> Class {
         if (!row_of(c.problem.op).fused_norm) return std::nullopt;
         return c.problem.norm_weight ? mhcheck::name_of(*c.problem.norm_weight) : "none";
       }},
      {"entry",
       {"carried", "entry", "broadcast"},
       [](const OperatorRow& row) { return row.entries; },
       [](const Case& c) -> Class {
         if (!row_of(c.problem.op).entries) return std::nullopt;
         return name_of(c.problem.entry);
       }},
      {"sinkhorn_repeat",
       {"0", "1", "2", "20", "50", "other"},
       has<kSinkhornRepeat>,
       [](const Case& c) -> Class {
         if (!has<kSinkhornRepeat>(row_of(c.problem.op))) return std::nullopt;
         return repeat_class(c.problem.parameters.sinkhorn_repeat);
       }},
      {"rms_eps", kNumberClasses, has<kRmsEps>, epsilon_class<kRmsEps, &Parameters::rms_eps>},
      {"hc_pre_eps", kNumberClasses, has<kHcPreEps>, epsilon_class<kHcPreEps, &Parameters::hc_pre_eps>},
      {"hc_sinkhorn_eps", kNumberClasses, has<kHcSinkhornEps>,
       epsilon_class<kHcSinkhornEps, &Parameters::hc_sinkhorn_eps>},
      {"norm_eps", kNumberClasses, has<kNormEps>,
       [](const Case& c) -> Class {
         if (!c.problem.norm_weight) return std::nullopt;
         return number_class(c.problem.parameters.norm_eps);
       }},
      {"hc_post_mult_value",
       {"2", "1", "0", "negative", "other"},
       has<kHcPostMultValue>,
       [](const Case& c) -> Class {
         if (!has<kHcPostMultValue>(row_of(c.problem.op))) return std::nullopt;
         return mult_class(c.problem.parameters.hc_post_mult_value);
       }},
      {"split_k",
       {"1", "power of two", "other"},
       is_split,
       [](const Case& c) -> Class {
         if (!is_split(row_of(c.problem.op))) return std::nullopt;
         return split_class(c.problem.split_k);
       }},
  };
}

}  // namespace

std::span<const Axis> all_axes() {
  static const std::vector<Axis> kAxes = axes();
  return kAxes;
}

}  // namespace mhcheck::properties
