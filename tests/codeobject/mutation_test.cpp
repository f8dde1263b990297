// Damaged files, thousands of them: each is read or refused, and nothing else happens. Run it under the
// sanitizers too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>

#include "kernels/codeobject/describe.h"
#include "tests/codeobject/test_objects.h"

namespace mhcheck::codeobject {
namespace {

using Bytes = std::vector<std::byte>;

struct Outcomes {
  int accepted = 0, refused = 0;
};

// Anything but CodeObjectError fails the test, a crash included.
void try_to_read(const Bytes& bytes, Outcomes& outcomes) {
  try {
    for (const CodeObject& object : parse_code_objects(bytes, "mutant")) {
      (void)object.image_at(std::uint64_t{1} << 32);
      (void)describe(object);
    }
    ++outcomes.accepted;
  } catch (const CodeObjectError&) {
    ++outcomes.refused;
  }
}

class Mutation : public testing::TestWithParam<const char*> {
 protected:
  // Where a container or a loader looks; machine code in between is sampled.
  std::size_t stride(const Bytes& bytes) const { return std::max<std::size_t>(1, bytes.size() / 2000); }
};
INSTANTIATE_TEST_SUITE_P(EveryContainer, Mutation,
                         testing::Values("scale_O3.hsaco", "globals.hsaco", "plain.hipfb", "compressed.hipfb",
                                         "plain.so", "compressed.so"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST_P(Mutation, EveryByteChanged) {
  const Bytes original = object_bytes(GetParam());
  Bytes bytes = original;
  Outcomes outcomes;
  for (std::size_t i = 0; i < bytes.size(); i += stride(bytes)) {
    for (const std::byte value : {std::byte{0}, std::byte{0xff}, original[i] ^ std::byte{0x80}}) {
      bytes[i] = value;
      try_to_read(bytes, outcomes);
    }
    bytes[i] = original[i];
  }
  EXPECT_GT(outcomes.refused, 100);
  EXPECT_GT(outcomes.accepted, 0);
}

TEST_P(Mutation, EveryFieldTurnedExtreme) {
  const Bytes original = object_bytes(GetParam());
  Bytes bytes = original;
  Outcomes outcomes;
  const std::uint64_t extremes[] = {~std::uint64_t{0}, std::uint64_t{1} << 63, bytes.size(), bytes.size() - 1,
                                    0x7fffffff};
  // Fields of 4 and 8 bytes are aligned to 4 in everything that is read here.
  for (std::size_t i = 0; i + 8 <= bytes.size(); i += 4 * stride(bytes)) {
    for (const std::uint64_t value : extremes) {
      for (const std::size_t width : {4, 8}) {
        std::memcpy(bytes.data() + i, &value, width);
        try_to_read(bytes, outcomes);
        std::copy_n(original.begin() + static_cast<std::ptrdiff_t>(i), width,
                    bytes.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }
  EXPECT_GT(outcomes.refused, 100);
}

TEST_P(Mutation, CutAnywhere) {
  const Bytes original = object_bytes(GetParam());
  Outcomes outcomes;
  for (std::size_t size = 0; size < original.size();
       size += std::max<std::size_t>(1, original.size() / 500)) {
    try_to_read(Bytes(original.begin(), original.begin() + static_cast<std::ptrdiff_t>(size)), outcomes);
  }
  EXPECT_GT(outcomes.refused, 50);
}

TEST_P(Mutation, ManyBytesAtOnce) {
  const Bytes original = object_bytes(GetParam());
  Outcomes outcomes;
  std::mt19937_64 random(20240607);
  for (int trial = 0; trial < 1500; ++trial) {
    Bytes bytes = original;
    for (auto changes = 1 + random() % 8; changes-- > 0;) {
      // Headers stand at the start; tables, and what other files carry, anywhere.
      const std::size_t reach = random() % 2 == 0 ? std::min<std::size_t>(bytes.size(), 4096) : bytes.size();
      bytes[random() % reach] = static_cast<std::byte>(random());
    }
    // A piece of the file over another one: plausible values in wrong places.
    if (trial % 3 == 0) {
      const std::size_t length = 1 + random() % 64, from = random() % (bytes.size() - length),
                        to = random() % (bytes.size() - length);
      std::memmove(bytes.data() + to, original.data() + from, length);
    }
    try_to_read(bytes, outcomes);
  }
  EXPECT_GT(outcomes.refused, 20);
}

}  // namespace
}  // namespace mhcheck::codeobject
