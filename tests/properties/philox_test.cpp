#include "properties/philox.h"

#include <gtest/gtest.h>

namespace mhcheck::properties {
namespace {

// The known answers that the Random123 library publishes for philox4x32, 10 rounds.
TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, BlocksSideBySideAreTheBlocksOneByOne) {
  constexpr std::size_t kBlocks = 32;
  const PhiloxCounter first{0xfffffff0, 7, 8, 9};  // word 0 wraps on the way
  const PhiloxKey key{1, 2};
  PhiloxBlocks<kBlocks> together;
  philox4x32(first, key, together);
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const PhiloxCounter alone =
        philox4x32({first[0] + static_cast<std::uint32_t>(i), first[1], first[2], first[3]}, key);
    for (std::size_t word = 0; word < 4; ++word) EXPECT_EQ(together[word][i], alone[word]);
  }
}

}  // namespace
}  // namespace mhcheck::properties
