#include "golden/sha256.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "golden/file_error.h"
#include "tests/golden/scratch_folder.h"

namespace mhcheck::golden {
namespace {

std::string sha256_of_text(const std::string& text) { return sha256(std::as_bytes(std::span(text))); }

// The examples of FIPS 180-4's validation set: empty, one block, two blocks, a million letters.
TEST(Sha256, AgreesWithTheStandardsExamples) {
  EXPECT_EQ(sha256_of_text(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of_text("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_of_text(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, OfAFileIsThatOfItsBytesAtEverySizeAroundTheReadBuffer) {
  const ScratchFolder folder;
  constexpr std::size_t kBuffer = std::size_t{1} << 20;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, kBuffer - 1, kBuffer, kBuffer + 1, 2 * kBuffer}) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
    write_file(folder.path() / "f", bytes);
    EXPECT_EQ(sha256_of_file(folder.path() / "f"), sha256_of_text(bytes)) << size << " bytes";
  }
}

TEST(Sha256, OfAPipeIsAnErrorAndNoWait) {
  const std::filesystem::path pipe =
      std::filesystem::path(testing::TempDir()) / ("sha256-pipe-" + std::to_string(::getpid()));
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(sha256_of_file(pipe), FileError);
  std::filesystem::remove(pipe);
}

TEST(Sha256, OfNoFileIsAnError) {
  const ScratchFolder folder;
  EXPECT_THROW(sha256_of_file(folder.path() / "none"), FileError);
  EXPECT_THROW(sha256_of_file(folder.path()), FileError);
}

}  // namespace
}  // namespace mhcheck::golden
