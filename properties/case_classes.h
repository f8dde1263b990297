// What a campaign's cases are sorted by, to show how much of the space it reached: one row an axis, each case
// in one class of every axis that it depends on.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "reference/base/case.h"

namespace mhcheck::properties {

struct Axis {
  std::string_view name;
  std::vector<std::string_view> classes;  // every one there is, in the order of reports
  // Whether a case of the operator can have a class here.
  bool (*concerns)(const OperatorRow&);
  // One of `classes`, or nothing where this case does not depend on the axis.
  std::optional<std::string_view> (*class_of)(const Case&);
};

std::span<const Axis> all_axes();

}  // namespace mhcheck::properties
