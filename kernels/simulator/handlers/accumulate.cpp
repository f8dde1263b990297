#include "kernels/simulator/handlers/accumulate.h"

#include <algorithm>
#include <cmath>

namespace mhcheck::simulator::MHCHECK_ISA {

void ExactSum::add(double x) {
  if (x == 0) return;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(x), &exponent);
  auto significand = static_cast<uint64_t>(std::ldexp(fraction, 53));
  int position = exponent - 53 - kLowestExponent;  // of the significand's lowest bit
  if (position < 0) {
    significand >>= -position;  // those bits are zero: x is a multiple of 2^kLowestExponent
    position = 0;
  }
  const int limb = position / kLimbBits, shift = position % kLimbBits;
  const auto low = static_cast<uint64_t>(significand << shift);
  const uint64_t high = shift ? significand >> (64 - shift) : 0;
  const uint64_t parts[3] = {low & 0xffffffffu, low >> 32, high};
  const int64_t sign = x < 0 ? -1 : 1;
  for (int i = 0; i < 3; ++i) {
    if (limb + i < kLimbs) limbs_[limb + i] += sign * static_cast<int64_t>(parts[i]);
  }
}

float ExactSum::round() const {
  int64_t limbs[kLimbs];
  int64_t carry = 0;
  for (int i = 0; i < kLimbs; ++i) {
    const int64_t value = limbs_[i] + carry;
    carry = i + 1 < kLimbs ? value >> kLimbBits : 0;
    limbs[i] = i + 1 < kLimbs ? value & 0xffffffff : value;
  }
  const bool negative = limbs[kLimbs - 1] < 0;
  if (negative) {
    int64_t borrow = 0;
    for (int i = 0; i < kLimbs; ++i) {
      const int64_t value = -limbs[i] + borrow;
      borrow = i + 1 < kLimbs ? value >> kLimbBits : 0;
      limbs[i] = i + 1 < kLimbs ? value & 0xffffffff : value;
    }
  }
  int top = kLimbs - 1;
  while (top >= 0 && limbs[top] == 0) --top;
  if (top < 0) return 0.0f;
  // The upper three limbs with everything below folded into a sticky bit, rounded to odd; then once to f32.
  uint64_t head = static_cast<uint64_t>(limbs[top]);
  int lowest = top * kLimbBits + kLowestExponent;
  int next = top - 1;
  while (head < uint64_t{1} << 31 && next >= 0) {
    head = head << kLimbBits | static_cast<uint64_t>(limbs[next]);
    lowest -= kLimbBits;
    --next;
  }
  int shift = 0;
  while (head >> shift >= uint64_t{1} << 40) ++shift;
  bool sticky = (head & ((uint64_t{1} << shift) - 1)) != 0;
  for (; next >= 0; --next) sticky |= limbs[next] != 0;
  const uint64_t odd = head >> shift | (sticky ? 1 : 0);
  const double value = std::ldexp(static_cast<double>(odd), lowest + shift);
  return static_cast<float>(negative ? -value : value);
}

float exact_dot(const float* a, const float* b, int count, float c) {
  ExactSum sum;
  float special = c;  // infinities and NaN follow the ordinary rules
  bool finite = std::isfinite(c);
  for (int k = 0; k < count; ++k) {
    if (!std::isfinite(a[k]) || !std::isfinite(b[k])) finite = false;
    special = std::fma(a[k], b[k], special);
    if (finite) sum.add(static_cast<double>(a[k]) * b[k]);
  }
  if (!finite) return special;
  sum.add(c);
  const float rounded = sum.round();
  return rounded == 0 ? special : rounded;  // the sign of an exact zero is the sequential sum's
}

namespace {

int exponent_of(float x) { return x == 0 ? -1000 : std::ilogb(x); }

double truncated(double x, int lowest_bit) {
  return std::ldexp(std::trunc(std::ldexp(x, -lowest_bit)), lowest_bit);
}
double floored(double x, int lowest_bit) {
  return std::ldexp(std::floor(std::ldexp(x, -lowest_bit)), lowest_bit);
}

// Products aligned to the largest sum of exponents; every `step`-th from `first`.
double aligned_sum(const float* a, const float* b, int first, int end, int step, int& exponent) {
  exponent = -2000;
  for (int k = first; k < end; k += step) {
    if (a[k] != 0 && b[k] != 0) exponent = std::max(exponent, exponent_of(a[k]) + exponent_of(b[k]));
  }
  double sum = 0;
  if (exponent == -2000) return sum;
  for (int k = first; k < end; k += step) sum += truncated(static_cast<double>(a[k]) * b[k], exponent - 24);
  return sum;
}

float merge(double sum, int sum_exponent, float accumulator) {
  const int exponent = std::max(sum_exponent, exponent_of(accumulator));
  if (exponent <= -1000) return accumulator + 0.0f;
  const double total = floored(sum, exponent - 31) + floored(accumulator, exponent - 24);
  return static_cast<float>(total);
}

}  // namespace

float cdna3_dot(const float* a, const float* b, int count, float c, int group, bool split_even_odd) {
  float accumulator = c;
  for (int first = 0; first < count; first += group) {
    const int end = std::min(first + group, count);
    bool finite = std::isfinite(accumulator);
    for (int k = first; k < end; ++k) finite &= std::fabs(static_cast<double>(a[k]) * b[k]) < 0x1p128;
    if (!finite) {
      for (int k = first; k < end; ++k) {
        const double product = static_cast<double>(a[k]) * b[k];
        accumulator += std::fabs(product) >= 0x1p128 ? std::copysign(INFINITY, static_cast<float>(product))
                                                     : static_cast<float>(product);
      }
      continue;
    }
    int exponent = 0;
    double sum = 0;
    if (split_even_odd) {
      int odd_exponent = 0;
      const double even = aligned_sum(a, b, first, end, 2, exponent);
      const double odd = aligned_sum(a, b, first + 1, end, 2, odd_exponent);
      exponent = std::max(exponent, odd_exponent);
      if (exponent > -2000) sum = floored(even, exponent - 24) + floored(odd, exponent - 24);
      if (exponent - exponent_of(accumulator) > 25) accumulator = 0;
    } else {
      sum = aligned_sum(a, b, first, end, 1, exponent);
    }
    accumulator = merge(sum, exponent, accumulator);
  }
  return accumulator;
}

}  // namespace mhcheck::simulator::MHCHECK_ISA
