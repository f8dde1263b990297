#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace mhcheck::simulator {

/// One dword that no kernel writes by accident: NaN as f32, f64 and as the high f16 or bf16, and no valid
/// address.
inline constexpr uint32_t kPoison = 0xfff5a5a5u;

/// What Memory knows about one allocation.
struct Allocation {
  uint64_t address = 0;
  uint64_t size = 0;
  std::string name;
  std::unique_ptr<std::byte[]> bytes;
  /// One bit a 128-byte cache line, set by the launch in progress. Lines are counted from the allocation's
  /// start.
  std::unique_ptr<std::atomic<uint64_t>[]> touched_lines;

  bool contains(uint64_t first, uint64_t count) const {
    return first >= address && count <= size && first - address <= size - count;
  }
};

/// The device's global address space. Allocations have exactly the size asked for, are filled with kPoison,
/// and lie at least kRedZone bytes apart, so that an overrun meets nothing. Addresses depend only on the
/// order of calls. Not synchronised: allocate and free only while no launch is running.
class Memory {
 public:
  static constexpr uint64_t kRedZone = uint64_t{1} << 20;
  static constexpr uint64_t kCacheLine = 128;

  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Returns the device address, a multiple of `alignment` (a power of two). `bytes` may be 0: the address is
  /// then unique and every access to it faults. `name` appears in faults. Throws std::bad_alloc when the host
  /// has no room.
  uint64_t allocate(uint64_t bytes, std::string name = {}, uint64_t alignment = 256);
  /// Throws MemoryFault unless `address` came from allocate and is still live.
  void free(uint64_t address);

  void write(uint64_t address, std::span<const std::byte> source);
  void read(uint64_t address, std::span<std::byte> target) const;
  /// Host pointer to `bytes` bytes at a device address, all of one allocation; throws MemoryFault otherwise.
  std::byte* translate(uint64_t address, uint64_t bytes) const;

  /// The allocation that holds all of [address, address + bytes), or null.
  const Allocation* find(uint64_t address, uint64_t bytes) const;
  /// "0x... is 12 bytes past the end of residual (0x..., 4096 bytes)".
  std::string describe(uint64_t address) const;

  /// Calls visit(allocation) for each live one, by ascending address.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [address, allocation] : allocations_) visit(allocation);
  }

  void clear_touched_lines() const;
  uint64_t count_touched_lines() const;

 private:
  std::map<uint64_t, Allocation> allocations_;
  uint64_t next_address_ = uint64_t{1} << 32;
};

}  // namespace mhcheck::simulator
