#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mhcheck::simulator {

/// What the simulator can look for while a kernel runs; docs/sanitizers.md says what each one means.
enum class Sanitizer : uint8_t { kBounds, kWrites, kRace, kWait, kUninit, kCrossLane, kBarrier };

struct SanitizerRow {
  Sanitizer sanitizer;
  std::string_view name;  ///< as on the command line
  std::string_view meaning;
};

inline constexpr std::array kSanitizers{
    SanitizerRow{Sanitizer::kBounds, "bounds", "an access outside the allocation that it is meant for"},
    SanitizerRow{Sanitizer::kWrites, "writes",
                 "an input written, an output element written by two waves or by none"},
    SanitizerRow{Sanitizer::kRace, "race", "two waves access the same bytes and nothing orders them"},
    SanitizerRow{Sanitizer::kWait, "wait",
                 "a register or LDS used before a counter says that its data is there"},
    SanitizerRow{Sanitizer::kUninit, "uninit", "bytes never written reach a store, an address or a branch"},
    SanitizerRow{Sanitizer::kCrossLane, "lanes",
                 "a value from a lane that had none to give reaches a store, an address or a branch"},
    SanitizerRow{Sanitizer::kBarrier, "barrier",
                 "waves of a workgroup meet different barriers, or one never comes"},
};

constexpr const SanitizerRow& row_of(Sanitizer sanitizer) {
  return kSanitizers[static_cast<size_t>(sanitizer)];
}

/// Which sanitizers are on.
class SanitizerSet {
 public:
  constexpr SanitizerSet() = default;
  static constexpr SanitizerSet all() {
    SanitizerSet set;
    for (const SanitizerRow& row : kSanitizers) set.add(row.sanitizer);
    return set;
  }
  constexpr void add(Sanitizer sanitizer) { bits_ |= 1u << static_cast<unsigned>(sanitizer); }
  constexpr bool has(Sanitizer sanitizer) const { return bits_ >> static_cast<unsigned>(sanitizer) & 1; }
  constexpr bool empty() const { return bits_ == 0; }
  bool operator==(const SanitizerSet&) const = default;

 private:
  uint32_t bits_ = 0;
};

/// "all", "none", or names separated by commas. Throws std::invalid_argument that lists the names.
SanitizerSet parse_sanitizers(std::string_view list);
/// The inverse: "all", "none" or a list.
std::string to_string(const SanitizerSet& set);

/// One instruction of one wave.
struct FindingPlace {
  std::string instruction;  ///< its assembly text
  uint64_t address = 0;     ///< in the code object, as a disassembly of the file shows it
  std::string source;       ///< "file.hip:12" where the code object has debug lines, else empty
  std::array<uint32_t, 3> workgroup{};
  uint32_t wave = 0;   ///< in its workgroup
  uint64_t lanes = 0;  ///< one bit each; 0 where lanes do not matter
};

/// Something that a sanitizer saw. Equal ones (same sanitizer, kernel, statement and instructions) are one
/// finding; the places are those of the first.
struct SanitizerFinding {
  Sanitizer sanitizer = Sanitizer::kBounds;
  std::string kernel;  ///< empty where no single launch is to blame
  std::string what;    ///< one clause
  std::string memory;  ///< "next_residual[0, 3, 17] (byte 70 of 4096)"; empty where no memory is involved
  std::optional<FindingPlace> place;
  std::string other_role;             ///< what `other` is: "the other access"
  std::optional<FindingPlace> other;  ///< where there are two
  uint64_t count = 1;
};

/// The whole finding in one line.
std::string to_string(const SanitizerFinding& finding);

}  // namespace mhcheck::simulator
