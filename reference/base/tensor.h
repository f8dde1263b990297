// A dense row-major tensor in a storage format, and a case's tensors by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference/base/dtype.h"

namespace mhcheck {

using Extents = std::vector<std::int64_t>;

inline std::size_t element_count(const Extents& shape) {
  return static_cast<std::size_t>(
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
}

// "[3, 4, 512]"
std::string to_string(const Extents& shape);

// Elements live in little-endian byte order, as in memory on every machine that this project supports.
class Tensor {
 public:
  Tensor() = default;
  // All elements are zero bits.
  Tensor(Dtype dtype, Extents shape)
      : dtype_(dtype), shape_(std::move(shape)), bytes_(element_count(shape_) * size_of(dtype)) {}

  Dtype dtype() const { return dtype_; }
  const Extents& shape() const { return shape_; }
  std::size_t size() const { return bytes_.size() / size_of(dtype_); }

  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<std::byte> bytes() { return bytes_; }

  std::uint32_t bits(std::size_t index) const {
    if (dtype_ == Dtype::fp32) return load<std::uint32_t>(index);
    return load<std::uint16_t>(index);
  }
  void set_bits(std::size_t index, std::uint32_t bits) {
    if (dtype_ == Dtype::fp32) return store(index, bits);
    store(index, static_cast<std::uint16_t>(bits));
  }

  double value(std::size_t index) const { return decode(dtype_, bits(index)); }
  // Rounds once, to nearest even.
  void set(std::size_t index, double value) { set_bits(index, encode(dtype_, value)); }

  // The elements as raw words. Throws std::logic_error when the format has another width.
  std::span<const std::uint16_t> halves() const { return words<std::uint16_t>(); }
  std::span<std::uint16_t> halves() { return mutable_words<std::uint16_t>(); }
  std::span<const float> floats() const { return words<float>(); }
  std::span<float> floats() { return mutable_words<float>(); }

  bool operator==(const Tensor&) const = default;

 private:
  template <class Word>
  Word load(std::size_t index) const {
    Word word;
    std::memcpy(&word, bytes_.data() + index * sizeof(Word), sizeof(Word));
    return word;
  }
  template <class Word>
  void store(std::size_t index, Word word) {
    std::memcpy(bytes_.data() + index * sizeof(Word), &word, sizeof(Word));
  }
  template <class Word>
  std::span<const Word> words() const {
    if (size_of(dtype_) != sizeof(Word))
      throw std::logic_error("tensor accessed with the wrong element width");
    return {reinterpret_cast<const Word*>(bytes_.data()), size()};
  }
  template <class Word>
  std::span<Word> mutable_words() {
    if (size_of(dtype_) != sizeof(Word))
      throw std::logic_error("tensor accessed with the wrong element width");
    return {reinterpret_cast<Word*>(bytes_.data()), size()};
  }

  Dtype dtype_ = Dtype::fp32;
  Extents shape_;
  std::vector<std::byte> bytes_;
};

// Ordered by name, so that everything that walks it does so in one order.
using TensorMap = std::map<std::string, Tensor>;

}  // namespace mhcheck
