// Rows of numbers that are hard to add up.
#pragma once

#include <cmath>
#include <string_view>
#include <vector>

#include "reference/base/dtype.h"
#include "tests/reference/random.h"

namespace mhcheck::testing {

struct RowKind {
  std::string_view name;
  // The element at `place` of a row whose element before it is `before`.
  double (*element)(Random& random, std::size_t place, double before);
};

constexpr RowKind kRowKinds[] = {
    {"gauss", [](Random& r, std::size_t, double) { return r.gauss(); }},
    {"massive", [](Random& r, std::size_t, double) { return r.gauss() * (r.one_in(100) ? 1e4 : 1e-2); }},
    {"cancelling",
     [](Random& r, std::size_t place, double before) { return place % 2 == 1 ? -before : 100 * r.gauss(); }},
    {"nearly cancelling",
     [](Random& r, std::size_t place, double before) {
       return place % 2 == 1 ? -before * (1 + 0x1p-6 * r.gauss()) : 100 * r.gauss();
     }},
    {"sparse", [](Random& r, std::size_t, double) { return r.one_in(40) ? r.gauss() : 0; }},
    {"subnormal", [](Random& r, std::size_t, double) { return r.of_size(-149, -124); }},
    {"constant", [](Random&, std::size_t, double) { return 0.333251953125; }},
    {"ragged", [](Random& r, std::size_t, double) { return r.of_size(-60, 60); }},
    {"all exponents", [](Random& r, std::size_t, double) { return r.of_size(-126, 120); }},
    {"zero", [](Random&, std::size_t, double) { return 0.0; }},
    {"one large among tiny",
     [](Random& r, std::size_t place, double) { return place == 0 ? 1.0 : 0x1p-30 * r.gauss(); }},
};

inline std::vector<double> row_of(const RowKind& kind, std::size_t size, Random& random) {
  std::vector<double> row(size);
  double before = 0;
  for (std::size_t k = 0; k < size; ++k) before = row[k] = kind.element(random, k, before);
  return row;
}

// The row in a storage format; what is beyond it becomes its largest number.
inline std::vector<double> stored(Dtype dtype, std::vector<double> row) {
  const FloatFormat f = format_of(dtype);
  const double largest = decode(dtype, f.infinity() - 1);
  for (double& value : row) {
    value = decode(dtype, encode(dtype, value));
    if (std::isinf(value)) value = std::copysign(largest, value);
  }
  return row;
}

}  // namespace mhcheck::testing
