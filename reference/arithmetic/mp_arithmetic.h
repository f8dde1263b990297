// The contract's arithmetic in multiprecision balls. Rows are functions of the index: what is not asked for
// is not computed, since few elements need this arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "reference/arithmetic/mp_ball.h"
#include "reference/base/dtype.h"
#include "reference/contract.h"

namespace mhcheck {

// The current precision leaves a rounding on the way open.
class PrecisionTooLow : public std::exception {};

class MpArithmetic {
 public:
  using Scalar = MpBall;
  // Called with the index; the same index always gives the same ball.
  using Row = std::function<MpBall(std::size_t)>;

  MpArithmetic(Dtype storage, std::size_t hidden_size) : storage_(storage), size_(hidden_size) {}

  Row combine(std::span<const MpBall> coefficients, std::span<const Row> rows) {
    return [c = std::vector<MpBall>(coefficients.begin(), coefficients.end()),
            r = std::vector<Row>(rows.begin(), rows.end())](std::size_t h) {
      MpBall sum;
      for (std::size_t j = 0; j < c.size(); ++j) sum = sum + c[j] * r[j](h);
      return sum;
    };
  }

  Row round(const Row& row, contract::RowId) {
    return [row, dtype = storage_](std::size_t h) {
      const std::optional<std::uint32_t> bits = row(h).rounded(dtype);
      if (!bits) throw PrecisionTooLow();
      return MpBall(decode(dtype, *bits));
    };
  }

  MpBall mean_square(const Row& row) {
    MpBall sum;
    for (std::size_t h = 0; h < size_; ++h) {
      const MpBall y = row(h);
      sum = sum + y * y;
    }
    return sum / MpBall(static_cast<double>(size_));
  }

  Row normalise(const Row& y, const MpBall& mean_square_plus_eps, const Row& weight) {
    return [y, weight, root = sqrt(mean_square_plus_eps)](std::size_t h) { return y(h) / root * weight(h); };
  }

  contract::SquareMatrix<MpBall> balance(const contract::SquareMatrix<MpBall>& logits, const MpBall& eps,
                                         int repeat) {
    contract::NoObserver nobody;
    return contract::balance(logits, eps, repeat, nobody);
  }

 private:
  Dtype storage_;
  std::size_t size_;
};

}  // namespace mhcheck
