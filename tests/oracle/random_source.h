// Random numbers for the tests of this folder, the same on every machine, and from no generator of the
// project: a fault that a generator and what it feeds have in common would not show.
#pragma once

#include <cstdint>
#include <random>

#include "reference/base/dtype.h"

namespace mhcheck::oracle {

class RandomSource {
 public:
  explicit RandomSource(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t bits() { return engine_(); }
  // 0 to count - 1.
  std::uint64_t below(std::uint64_t count) { return engine_() % count; }
  bool one_in(std::uint64_t count) { return below(count) == 0; }
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  // Mean 0, variance 1: a sum of twelve uniform numbers is normal enough, and exact.
  double gauss() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }
  template <class T, std::size_t N>
  const T& one_of(const T (&choices)[N]) {
    return choices[below(N)];
  }
  // Any finite pattern of the format, all equally likely.
  std::uint32_t finite_bits(Dtype dtype) {
    const FloatFormat f = format_of(dtype);
    const auto magnitude = static_cast<std::uint32_t>(below(f.infinity()));
    return one_in(2) ? magnitude | f.sign_mask() : magnitude;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace mhcheck::oracle
