// The contract's arithmetic in double with running radii: rows of numbers, array by array so that they
// vectorise.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "reference/arithmetic/tracked.h"
#include "reference/base/dtype.h"
#include "reference/contract.h"
#include "reference/sums/long_sum.h"

namespace mhcheck {

// hidden_size Tracked numbers. Radii arrays that are absent are zero; kernel radii that are equal share one
// array.
struct TrackedRow {
  using Array = std::shared_ptr<const std::vector<double>>;

  std::vector<double> mid;
  Array rad;
  std::array<Array, Radii::kKinds> kernel;
  // The rounding of every element to the streams' format, once certify() has found it.
  mutable std::shared_ptr<const std::vector<std::uint32_t>> certified;

  std::size_t size() const { return mid.size(); }
  const double* rad_data() const { return rad ? rad->data() : nullptr; }
  const double* kernel_data(int kind) const { return kernel[kind] ? kernel[kind]->data() : nullptr; }
};

// Decides what double arithmetic leaves open: the correctly rounded value of one element of a row, certified.
class RowResolver {
 public:
  virtual ~RowResolver() = default;
  virtual std::uint32_t resolve(contract::RowId id, std::size_t index) = 0;
};

// The certified rounding of every element of a row to the streams' format. Kept in the row.
const std::vector<std::uint32_t>& certify(const TrackedRow& row, Dtype storage, contract::RowId id,
                                          RowResolver& resolver);

class TrackedArithmetic {
 public:
  using Scalar = Tracked;
  using Row = std::shared_ptr<const TrackedRow>;

  TrackedArithmetic(Dtype storage, const sums::SumModel& model, RowResolver& resolver)
      : storage_(storage), model_(model), resolver_(resolver) {}

  Row combine(std::span<const Tracked> coefficients, std::span<const Row> rows);
  Row round(const Row& row, contract::RowId id);
  Tracked mean_square(const Row& row);
  Row normalise(const Row& y, const Tracked& mean_square_plus_eps, const Row& weight);
  contract::SquareMatrix<Tracked> balance(const contract::SquareMatrix<Tracked>& logits, const Tracked& eps,
                                          int repeat);

 private:
  Dtype storage_;
  sums::SumModel model_;
  RowResolver& resolver_;
};

}  // namespace mhcheck
