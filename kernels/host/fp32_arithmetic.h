// The contract's arithmetic in fp32, as production kernels compute: every operation rounds, rows are rounded
// to the streams' format where the rounding profile says so, long sums run in lanes.
#pragma once

#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "reference/arithmetic/exp_double.h"
#include "reference/base/dtype.h"
#include "reference/contract.h"

namespace mhcheck::kernels {

// An fp32 number. Its exp is correctly rounded but for one case in 2^27, and the same on every machine.
struct Fp32 {
  float value = 0;
  Fp32() = default;
  explicit Fp32(float v) : value(v) {}
  explicit Fp32(double v) : value(static_cast<float>(v)) {}
  explicit Fp32(int v) : value(static_cast<float>(v)) {}
  friend Fp32 operator-(Fp32 x) { return Fp32(-x.value); }
  friend Fp32 operator+(Fp32 x, Fp32 y) { return Fp32(x.value + y.value); }
  friend Fp32 operator-(Fp32 x, Fp32 y) { return Fp32(x.value - y.value); }
  friend Fp32 operator*(Fp32 x, Fp32 y) { return Fp32(x.value * y.value); }
  friend Fp32 operator/(Fp32 x, Fp32 y) { return Fp32(x.value / y.value); }
  friend bool operator<(Fp32 x, Fp32 y) { return x.value < y.value; }
  friend Fp32 exp(Fp32 x) { return Fp32(exp_double(static_cast<double>(x.value))); }
  friend Fp32 sqrt(Fp32 x) { return Fp32(std::sqrt(x.value)); }
  // As kernels do: x * rsqrt(s).
  friend Fp32 divide_by_root(Fp32 x, Fp32 s) { return x * (Fp32(1) / sqrt(s)); }
};

// The lanes that a long sum is spread over before they are added up pairwise.
inline constexpr std::size_t kLanes = 16;

// sum_k a_k * b_k in lanes.
inline float lane_dot(const float* a, const float* b, std::size_t size) {
  std::array<float, kLanes> lanes{};
  std::size_t k = 0;
  for (; k + kLanes <= size; k += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += a[k + lane] * b[k + lane];
  }
  for (std::size_t lane = 0; k < size; ++k, ++lane) lanes[lane] += a[k] * b[k];
  for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::size_t lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

class Fp32Arithmetic {
 public:
  using Scalar = Fp32;
  using Row = std::shared_ptr<const std::vector<float>>;

  explicit Fp32Arithmetic(Dtype storage) : storage_(storage) {}

  Row combine(std::span<const Fp32> coefficients, std::span<const Row> rows) {
    auto result = std::make_shared<std::vector<float>>(rows.front()->size());
    float* sum = result->data();
    for (std::size_t j = 0; j < rows.size(); ++j) {
      const float c = coefficients[j].value;
      const float* x = rows[j]->data();
      for (std::size_t h = 0; h < result->size(); ++h) sum[h] += c * x[h];
    }
    return result;
  }

  Row round(const Row& row, contract::RowId) {
    auto result = std::make_shared<std::vector<float>>(row->size());
    for (std::size_t h = 0; h < row->size(); ++h) {
      (*result)[h] = static_cast<float>(decode(storage_, encode(storage_, (*row)[h])));
    }
    return result;
  }

  Fp32 mean_square(const Row& row) {
    return Fp32(lane_dot(row->data(), row->data(), row->size())) / Fp32(static_cast<float>(row->size()));
  }

  Row normalise(const Row& y, const Fp32& mean_square_plus_eps, const Row& weight) {
    const float inverse = (Fp32(1) / sqrt(mean_square_plus_eps)).value;
    auto result = std::make_shared<std::vector<float>>(y->size());
    for (std::size_t h = 0; h < y->size(); ++h) (*result)[h] = (*y)[h] * inverse * (*weight)[h];
    return result;
  }

  contract::SquareMatrix<Fp32> balance(const contract::SquareMatrix<Fp32>& logits, const Fp32& eps,
                                       int repeat) {
    contract::NoObserver nobody;
    return contract::balance(logits, eps, repeat, nobody);
  }

 private:
  Dtype storage_;
};

}  // namespace mhcheck::kernels
