#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/simulator/exact_real.h"

// The frame in which every vector operation is tested: random and special operands, every encoding and
// modifier that the assembler accepts for it, full and partial EXEC, and for rounded operations every
// rounding and denormal mode.
namespace mhcheck::simulator::testing {

enum class Kind { kNone, kI16, kI32, kI64, kF16, kF32, kF64 };

int bits_of(Kind kind);
bool is_float(Kind kind);
Format format_of(Kind kind);

struct Inputs {
  std::array<uint64_t, 3> value{};
  Direction direction = Direction::kNearest;  // for the result's type
  int lane = 0;
  bool clamp = false;  // integer operations saturate by themselves
  bool ieee = true;
};

struct VectorRow {
  std::string mnemonic;
  Kind result;
  std::vector<Kind> sources;
  std::function<uint64_t(const Inputs&)> expected;
  bool rounds = false;             // follows MODE: tested in all modes
  bool reads_destination = false;  // the last source is the destination
  bool clamps = true;              // takes the clamp modifier
  bool sign_modifiers = true;      // takes abs and neg on float sources
};

uint64_t random_operand(Kind kind, std::mt19937_64& random);
/// Runs the row in all forms; failures are reported through GoogleTest.
void check_row(const VectorRow& row);

}  // namespace mhcheck::simulator::testing
