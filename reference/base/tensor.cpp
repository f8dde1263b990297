#include "reference/base/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace mhcheck {

std::string to_string(const Extents& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace mhcheck
