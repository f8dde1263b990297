#include "kernels/manifests/padding.h"

#include <cstring>

namespace mhcheck::kernels {

void Padding::for_each_row(const std::function<void(std::size_t, std::size_t, std::size_t)>& row) const {
  if (element_count(inner_) == 0) return;
  const std::size_t bytes = static_cast<std::size_t>(inner_.back()) * element_bytes_;
  const std::size_t rows = element_count(inner_) / static_cast<std::size_t>(inner_.back());
  for (std::size_t r = 0; r < rows; ++r) {
    // The row's index, axis by axis from the last but one, and its offset in the larger tensor.
    std::size_t rest = r, offset = 0, stride = static_cast<std::size_t>(outer_.back());
    for (std::size_t axis = inner_.size() - 1; axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(inner_[axis]);
      offset += rest % extent * stride;
      rest /= extent;
      stride *= static_cast<std::size_t>(outer_[axis]);
    }
    row(r * bytes, offset * element_bytes_, bytes);
  }
}

void Padding::scatter(std::span<const std::byte> dense, std::span<std::byte> padded) const {
  for_each_row([&](std::size_t from, std::size_t to, std::size_t bytes) {
    std::memcpy(padded.data() + to, dense.data() + from, bytes);
  });
}

void Padding::gather(std::span<const std::byte> padded, std::span<std::byte> dense) const {
  for_each_row([&](std::size_t to, std::size_t from, std::size_t bytes) {
    std::memcpy(dense.data() + to, padded.data() + from, bytes);
  });
}

}  // namespace mhcheck::kernels
