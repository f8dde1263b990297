#pragma once

#include <cstdint>
#include <vector>

namespace mhcheck::simulator {

/// What a kernel may do with an allocation.
enum class BufferRole : uint8_t {
  kUnknown,    ///< anything
  kInput,      ///< read only
  kOutput,     ///< every element is to be written, by one wave; what the host put there counts as unwritten
  kWorkspace,  ///< anything
};

/// What the host knows about an allocation.
struct BufferUse {
  BufferRole role = BufferRole::kUnknown;
  uint32_t element_bytes = 1;
  std::vector<int64_t> extents{};  ///< of what it holds; empty: elements are numbered through
  /// Of the tensor at the origin of a larger one, of the same rank as `extents`: what lies beside it is
  /// padding, which nobody may touch. Empty: the tensor fills the allocation.
  std::vector<int64_t> tensor{};
};

}  // namespace mhcheck::simulator
