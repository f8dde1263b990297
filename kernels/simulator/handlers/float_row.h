#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#if defined(__FMA__)
#include <immintrin.h>
#endif

#include "kernels/simulator/handlers/isa.h"

namespace mhcheck::simulator::MHCHECK_ISA {

/// Sixteen floats in host registers, for the inner loop of matrix products: left to itself the compiler
/// shuffles the accumulators more than it multiplies.
class FloatRow {
 public:
  static constexpr int kWidth = 16;

#if defined(__AVX512F__)
  [[gnu::always_inline]] void load(const void* from) { value_ = _mm512_loadu_ps(from); }
  [[gnu::always_inline]] void fill(float x) { value_ = _mm512_set1_ps(x); }
  [[gnu::always_inline]] void multiply_add(float factor, const FloatRow& row) {
    value_ = _mm512_fmadd_ps(_mm512_set1_ps(factor), row.value_, value_);
  }
  /// NaNs are written as the default one.
  [[gnu::always_inline]] void store(void* to) const {
    const __mmask16 nan = _mm512_cmp_ps_mask(value_, value_, _CMP_UNORD_Q);
    _mm512_storeu_ps(to,
                     _mm512_mask_blend_ps(nan, value_, _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000))));
  }

 private:
  __m512 value_;
#elif defined(__FMA__)
  [[gnu::always_inline]] void load(const void* from) {
    for (int h : {0, 1}) value_[h] = _mm256_loadu_ps(static_cast<const float*>(from) + 8 * h);
  }
  [[gnu::always_inline]] void fill(float x) { value_[0] = value_[1] = _mm256_set1_ps(x); }
  [[gnu::always_inline]] void multiply_add(float factor, const FloatRow& row) {
    for (int h : {0, 1}) value_[h] = _mm256_fmadd_ps(_mm256_set1_ps(factor), row.value_[h], value_[h]);
  }
  [[gnu::always_inline]] void store(void* to) const {
    const __m256 default_nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
    for (int h : {0, 1}) {
      const __m256 nan = _mm256_cmp_ps(value_[h], value_[h], _CMP_UNORD_Q);
      _mm256_storeu_ps(static_cast<float*>(to) + 8 * h, _mm256_blendv_ps(value_[h], default_nan, nan));
    }
  }

 private:
  __m256 value_[2];
#else
  [[gnu::always_inline]] void load(const void* from) { std::memcpy(value_, from, sizeof value_); }
  [[gnu::always_inline]] void fill(float x) {
    for (float& value : value_) value = x;
  }
  [[gnu::always_inline]] void multiply_add(float factor, const FloatRow& row) {
    for (int i = 0; i < kWidth; ++i) value_[i] = std::fma(factor, row.value_[i], value_[i]);
  }
  [[gnu::always_inline]] void store(void* to) const {
    float settled[kWidth];
    for (int i = 0; i < kWidth; ++i)
      settled[i] = value_[i] != value_[i] ? std::bit_cast<float>(0x7fc00000u) : value_[i];
    std::memcpy(to, settled, sizeof settled);
  }

 private:
  float value_[kWidth];
#endif
};

}  // namespace mhcheck::simulator::MHCHECK_ISA
