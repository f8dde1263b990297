// Certain roundings of real numbers to a storage format: the one pattern that the whole enclosure rounds to.
#pragma once

#include <cstdint>
#include <functional>

#include "reference/base/dtype.h"
#include "tests/oracle/dyadic.h"
#include "tests/oracle/real.h"

namespace mhcheck::oracle {

// A number as an exact part and a rest. A gate that is nearly open is 1 - e^-1000: its rounding is
// certain only if the 1 stays exact and the rest keeps its sign, at a precision far below 1000 bits.
struct Split {
  Dyadic exact;
  Real rest;

  Real total() const { return Real(exact) + rest; }
  bool undefined() const { return exact.undefined() || rest.undefined(); }
  bool is_exact() const { return rest.is_zero(); }
};

// The pattern nearest to the number, ties to even; the quiet NaN where it is undefined. The sign of a zero is
// that of the number where it is known, else +. Throws NeedMorePrecision.
std::uint32_t round_to(Dtype dtype, const Split& number);

// The same for a number that may lie exactly between two patterns without its ball being exact: is_exactly(b)
// decides, by exact arithmetic, whether the number is b.
std::uint32_t round_to(Dtype dtype, const Real& number, const std::function<bool(const Dyadic&)>& is_exactly);

}  // namespace mhcheck::oracle
