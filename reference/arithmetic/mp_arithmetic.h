// The contract's arithmetic in multiprecision balls. Rows are functions of the index: what is not asked for
// is not computed, since few elements need this arithmetic.
#pragma once

#include <cmath>
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

  // The certified rounding of an element of a row, where somebody has found it before.
  using KnownRounding = std::function<std::optional<std::uint32_t>(contract::RowId, std::size_t)>;

  MpArithmetic(Dtype storage, std::size_t hidden_size, KnownRounding known)
      : storage_(storage), size_(hidden_size), known_(std::move(known)) {}

  Row combine(std::span<const MpBall> coefficients, std::span<const Row> rows) {
    return [c = std::vector<MpBall>(coefficients.begin(), coefficients.end()),
            r = std::vector<Row>(rows.begin(), rows.end())](std::size_t h) {
      MpBall sum;
      for (std::size_t j = 0; j < c.size(); ++j) sum = sum + c[j] * r[j](h);
      return sum;
    };
  }

  Row round(const Row& row, contract::RowId id) {
    return [row, id, dtype = storage_, known = known_](std::size_t h) {
      std::optional<std::uint32_t> bits = known(id, h);
      if (!bits) bits = row(h).rounded(dtype);
      if (!bits) throw PrecisionTooLow();
      // What follows from a rounding that overflows is undefined (contract, section 6).
      if (is_infinite(dtype, *bits)) return MpBall(std::nan(""));
      return MpBall(decode(dtype, *bits));
    };
  }

  // y w sqrt(H / (sum of s^2 + H eps)), as the root of one quotient of exact numbers: where the result is a
  // dyadic number, and only then can it be a tie, quotient and root are exact and the tie is decided. A
  // mean of its own would be inexact at every precision wherever H is no power of two.
  Row normalise(const Row& y, const Row& s, const MpBall& eps, const Row& weight) {
    const MpBall size(static_cast<double>(size_));
    MpBall sum = size * eps;
    for (std::size_t h = 0; h < size_; ++h) {
      const MpBall element = s(h);
      sum = sum + element * element;
    }
    return [y, weight, size, sum](std::size_t h) {
      const MpBall product = y(h) * weight(h);
      const MpBall magnitude = sqrt(product * product * size / sum);
      return product < MpBall() ? -magnitude : magnitude;
    };
  }

  contract::SquareMatrix<MpBall> balance(const contract::SquareMatrix<MpBall>& logits, const MpBall& eps,
                                         int repeat) {
    contract::NoObserver nobody;
    return contract::balance(logits, eps, repeat, nobody);
  }

 private:
  Dtype storage_;
  std::size_t size_;
  KnownRounding known_;
};

}  // namespace mhcheck
