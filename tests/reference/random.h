// Random numbers for the tests: the same on every machine, since only the engine of the standard library is
// used, whose output is specified, and none of its distributions.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace mhcheck::testing {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t bits() { return engine_(); }
  std::uint64_t below(std::uint64_t limit) { return bits() % limit; }
  int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<std::uint64_t>(high - low + 1)));
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  double sign() { return one_in(2) ? 1 : -1; }
  // [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  // [-1, 1)
  double symmetric() { return 2 * uniform() - 1; }
  // About normal, mean 0 and variance 1.
  double gauss() {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum - 6;
  }
  // A random sign and significand of `precision` bits, times 2^exponent with the exponent in [low, high].
  double of_size(int low, int high, int precision = 53) {
    const double significand =
        std::ldexp(std::floor(std::ldexp(1 + uniform(), precision - 1)), 1 - precision);
    return sign() * std::ldexp(significand, between(low, high));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace mhcheck::testing
