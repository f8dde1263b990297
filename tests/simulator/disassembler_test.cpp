#include "kernels/simulator/disassembler.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace mhcheck::simulator::testing {
namespace {

// f8f6f4 MFMAs that no assembler writes: factors that are no vector registers, element formats that do not
// exist. LLVM's disassembler crashes on them.
TEST(Disassembler, MalformedMatrixInstructionsAreNoInstructions) {
  Disassembler disassembler;
  constexpr uint32_t kVectors = 0x04521904;  // v[4:11], v[12:19], v[20:23]
  struct Row {
    std::array<uint32_t, 4> words;
    const char* mnemonic;
  };
  const Row rows[] = {
      {{0xd3ad0000, kVectors}, "v_mfma_f32_16x16x128_f8f6f4"},
      {{0xd3ad0000, kVectors & ~0x100u}, ""},
      {{0xd3ad0000, kVectors & ~0x20000u}, ""},
      {{0xd3ae0000 | 5 << 8, kVectors}, ""},
      {{0xd3ae0000, kVectors | 5u << 29}, ""},
      {{0xd3ac0000, 0x00023318, 0xd3ad0800, kVectors}, "v_mfma_scale_f32_16x16x128_f8f6f4"},
      {{0xd3ac0000, 0x00023318, 0xd3ad0800, kVectors & ~0x100u}, ""},
  };
  for (const Row& row : rows) {
    const Disassembler::Result found = disassembler.decode(std::as_bytes(std::span(row.words)), 0);
    EXPECT_EQ(found.mnemonic, row.mnemonic) << std::hex << row.words[0] << " " << row.words[1];
    EXPECT_FALSE(disassembler.text(std::as_bytes(std::span(row.words)), 0).empty());
  }
}

TEST(Disassembler, SurvivesAnyWords) {
  Disassembler disassembler;
  std::mt19937 random(17);
  constexpr uint32_t kVop3p = 0x1a7u << 23;
  for (int i = 0; i < 200000; ++i) {
    std::array<uint32_t, 4> words;
    for (uint32_t& word : words) word = static_cast<uint32_t>(random());
    if (i % 2) words[0] = kVop3p | (words[0] & 0x7fffff);
    if (i % 4 == 3) words[2] = kVop3p | (words[2] & 0x7fffff);
    const Disassembler::Result found = disassembler.decode(std::as_bytes(std::span(words)), 0);
    EXPECT_LE(found.bytes, 16u);
  }
}

}  // namespace
}  // namespace mhcheck::simulator::testing
