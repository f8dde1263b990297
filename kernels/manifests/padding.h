#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "reference/base/tensor.h"

namespace mhcheck::kernels {

/// Where a dense row-major tensor lies inside a larger one of the same rank, at its origin.
class Padding {
 public:
  /// Both shapes have the same rank, at least 1, and no extent of `outer` is below that of `inner`.
  Padding(Extents inner, Extents outer, std::size_t element_bytes)
      : inner_(std::move(inner)), outer_(std::move(outer)), element_bytes_(element_bytes) {}

  const Extents& outer() const { return outer_; }
  std::size_t outer_bytes() const { return element_count(outer_) * element_bytes_; }
  /// Copies the tensor into the larger one, whose other elements keep what they are.
  void scatter(std::span<const std::byte> dense, std::span<std::byte> padded) const;
  /// Copies it back.
  void gather(std::span<const std::byte> padded, std::span<std::byte> dense) const;

 private:
  // Calls `row(dense offset, padded offset, bytes)` for every run along the last axis.
  void for_each_row(const std::function<void(std::size_t, std::size_t, std::size_t)>& row) const;

  Extents inner_, outer_;
  std::size_t element_bytes_;
};

}  // namespace mhcheck::kernels
