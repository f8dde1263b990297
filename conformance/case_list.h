// Which cases a campaign runs: a plain function of the options, the same on every machine.
//
// Operator, dtype, hidden_size and num_tokens are crossed, but for a profile's large cases, in which the
// dtypes take turns. All other axes (regime, norm weight, hc_mult, sinkhorn_repeat, ...) rotate along the
// cases of an operator: each value turns up once before any turns up again, in an order that differs from
// axis to axis, so that values of two axes meet in every combination sooner or later. A case that the kernels
// under test do not take is drawn again.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "reference/base/case.h"

namespace mhcheck::conformance {

struct Profile {
  std::string_view name;
  std::string_view summary;
  std::span<const std::int64_t> hidden_sizes;
  std::span<const std::int64_t> num_tokens;
  int seeds;  // how often everything is gone through, each time with another seed and other rotations
};

std::span<const Profile> all_profiles();
// Throws std::invalid_argument that lists the profiles there are.
const Profile& profile_named(std::string_view name);

// Part `number` of `count` equal parts, 1 to count.
struct Shard {
  std::uint64_t number = 1;
  std::uint64_t count = 1;
};

struct CaseSelection {
  std::string_view profile = "smoke";
  // Where these are given, they take the place of the profile's.
  std::vector<Op> operators;
  std::vector<std::int64_t> hidden_sizes;
  std::vector<std::int64_t> num_tokens;
  std::vector<Dtype> dtypes;
  std::uint64_t seed = 1;
  Shard shard;
};

// The rounding profiles that the kernel under test offers for an operator; cases rotate over them.
using RoundingProfiles = std::function<std::vector<RoundingProfile>(Op)>;

// Whether a kernel under test takes the case.
using Takes = std::function<bool(const Case&)>;

// What no draw makes acceptable (a hidden_size outside a kernel's limits) stays in the list all the same.
std::vector<Case> list_cases(
    const CaseSelection& selection, const RoundingProfiles& profiles,
    const Takes& takes = [](const Case&) { return true; });

}  // namespace mhcheck::conformance
