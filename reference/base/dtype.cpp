#include "reference/base/dtype.h"

#include <fmt/format.h>

#include <algorithm>

namespace mhcheck {

std::string_view name_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::bf16:
      return "bf16";
    case Dtype::fp16:
      return "fp16";
    case Dtype::fp32:
      return "fp32";
  }
  return "?";
}

std::optional<Dtype> dtype_from_name(std::string_view name) {
  for (const Dtype dtype : kAllDtypes) {
    if (name == name_of(dtype)) return dtype;
  }
  return std::nullopt;
}

std::uint32_t next_up(Dtype dtype, std::uint32_t bits) {
  const FloatFormat f = format_of(dtype);
  if (is_nan(dtype, bits) || bits == f.infinity()) return bits;
  if ((bits & ~f.sign_mask()) == 0) return 1;
  if ((bits & f.sign_mask()) == 0) return bits + 1;
  return bits - 1 == f.sign_mask() ? 0 : bits - 1;
}

std::uint32_t next_down(Dtype dtype, std::uint32_t bits) {
  const FloatFormat f = format_of(dtype);
  if (is_nan(dtype, bits)) return bits;
  const std::uint32_t up = next_up(dtype, bits ^ f.sign_mask());
  return up == 0 ? 0 : up ^ f.sign_mask();
}

double ulp(Dtype dtype, double value) {
  const FloatFormat f = format_of(dtype);
  int exponent = f.min_exponent;
  if (value != 0 && std::isfinite(value)) exponent = std::ilogb(value);
  if (std::isinf(value)) exponent = f.max_exponent;
  exponent = std::clamp(exponent, f.min_exponent, f.max_exponent);
  return std::ldexp(1.0, exponent - f.mantissa_bits());
}

double ulp_distance(Dtype dtype, std::uint32_t stored, double exact) {
  const double value = decode(dtype, stored);
  if (value == exact) return 0;
  if (!std::isfinite(value) || !std::isfinite(exact)) return std::numeric_limits<double>::infinity();
  return (value - exact) / ulp(dtype, exact);
}

std::string hex_bits(Dtype dtype, std::uint32_t bits) {
  return fmt::format("0x{:0{}x}", bits, 2 * size_of(dtype));
}

}  // namespace mhcheck
