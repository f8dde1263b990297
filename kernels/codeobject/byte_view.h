#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "kernels/codeobject/error.h"

namespace mhcheck::codeobject {

/// Bytes from a file that is not trusted, under a name for messages. Every access checks its offset and
/// length against the bytes that are there, without overflow, and throws CodeObjectError (kTruncated) naming
/// what was to be read.
class ByteView {
 public:
  ByteView(std::span<const std::byte> bytes, std::string origin)
      : bytes_(bytes), origin_(std::move(origin)) {}

  std::uint64_t size() const { return bytes_.size(); }
  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& origin() const { return origin_; }

  bool holds(std::uint64_t offset, std::uint64_t count) const {
    return offset <= size() && count <= size() - offset;
  }

  std::span<const std::byte> slice(std::uint64_t offset, std::uint64_t count, std::string_view what) const {
    if (!holds(offset, count)) {
      throw CodeObjectError(
          Reason::kTruncated,
          fmt::format("{}: {} needs {} bytes at offset {:#x}, but there are {:#x} bytes in all", origin_,
                      what, count, offset, size()));
    }
    return bytes_.subspan(offset, count);
  }

  template <class Record>
  Record read(std::uint64_t offset, std::string_view what) const {
    static_assert(std::is_trivially_copyable_v<Record>);
    Record record;
    std::memcpy(&record, slice(offset, sizeof(Record), what).data(), sizeof(Record));
    return record;
  }

  bool starts_with(std::uint64_t offset, std::string_view magic) const {
    return holds(offset, magic.size()) &&
           std::memcmp(bytes_.data() + offset, magic.data(), magic.size()) == 0;
  }

  [[noreturn]] void fail(Reason reason, std::string_view what) const {
    throw CodeObjectError(reason, fmt::format("{}: {}", origin_, what));
  }

 private:
  std::span<const std::byte> bytes_;
  std::string origin_;
};

}  // namespace mhcheck::codeobject
