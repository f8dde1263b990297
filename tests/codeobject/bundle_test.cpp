#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/MD5.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>
#include <filesystem>

#include "kernels/codeobject/compressed_bundle.h"
#include "kernels/codeobject/device_images.h"
#include "tests/codeobject/test_objects.h"

namespace mhcheck::codeobject {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

std::vector<std::string> targets_in(const std::string& name) {
  const Bytes bytes = object_bytes(name);
  std::vector<std::string> targets;
  for (const DeviceImage& image : find_device_images(bytes, name).images) targets.push_back(image.target);
  return targets;
}

std::vector<std::string> kernels_in(std::span<const std::byte> bytes) {
  std::vector<std::string> names;
  for (const CodeObject& object : parse_code_objects(bytes, "bytes")) {
    for (const Kernel& kernel : object.kernels()) names.push_back(kernel.name);
  }
  return names;
}

TEST(DeviceImages, EveryContainerListsItsTargets) {
  EXPECT_THAT(targets_in("scale_O3.hsaco"), ElementsAre("gfx950"));
  EXPECT_THAT(targets_in("gfx942.hsaco"), ElementsAre("gfx942"));
  EXPECT_THAT(targets_in("plain.hipfb"), ElementsAre("gfx942", "gfx950"));
  EXPECT_THAT(targets_in("compressed.hipfb"), ElementsAre("gfx942", "gfx950"));
  EXPECT_THAT(targets_in("plain.so"), ElementsAre("gfx942", "gfx950", "gfx942", "gfx950"));
  EXPECT_THAT(targets_in("compressed.so"), ElementsAre("gfx942", "gfx950", "gfx942", "gfx950"));
}

TEST(DeviceImages, KernelsOfAllTranslationUnitsAreFound) {
  for (const char* name : {"plain.so", "compressed.so"}) {
    EXPECT_THAT(kernels_in(object_bytes(name)), ElementsAre("first_unit", "second_unit")) << name;
  }
}

TEST(DeviceImages, TheCompressedFilesReallyAreCompressed) {
  EXPECT_LT(std::filesystem::file_size(object_path("compressed.hipfb")),
            std::filesystem::file_size(object_path("plain.hipfb")) / 2);
  const Bytes bytes = object_bytes("compressed.hipfb");
  EXPECT_EQ(std::memcmp(bytes.data(), "CCOB", 4), 0);
}

// A writer for every version and method, where clang writes one only.
class Writer {
 public:
  template <class Value>
  void put(Value value) {
    const auto* first = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), first, first + sizeof(Value));
  }
  void put(const Bytes& more) { bytes.insert(bytes.end(), more.begin(), more.end()); }
  Bytes bytes;
};

Bytes compress(const Bytes& plain, int method) {
  Bytes result(ZSTD_compressBound(plain.size()) + compressBound(plain.size()));
  if (method == 0) {
    uLongf size = result.size();
    EXPECT_EQ(::compress(reinterpret_cast<Bytef*>(result.data()), &size,
                         reinterpret_cast<const Bytef*>(plain.data()), plain.size()),
              Z_OK);
    result.resize(size);
  } else {
    result.resize(ZSTD_compress(result.data(), result.size(), plain.data(), plain.size(), 3));
  }
  return result;
}

std::uint64_t md5_low(const Bytes& bytes) {
  return llvm::MD5::hash(llvm::ArrayRef(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()))
      .low();
}

Bytes write_compressed(const Bytes& plain, int version, int method, std::int64_t claimed_extra = 0,
                       std::uint64_t hash_flip = 0) {
  const Bytes body = compress(plain, method);
  const std::uint64_t claimed = plain.size() + static_cast<std::uint64_t>(claimed_extra);
  const std::uint64_t hash = md5_low(plain) ^ hash_flip;
  Writer out;
  for (const char c : kCompressedBundleMagic) out.put(c);
  out.put(static_cast<std::uint16_t>(version));
  out.put(static_cast<std::uint16_t>(method));
  if (version == 2) out.put(static_cast<std::uint32_t>(24 + body.size()));
  if (version == 3) out.put(static_cast<std::uint64_t>(32 + body.size()));
  if (version == 3) {
    out.put(claimed);
  } else {
    out.put(static_cast<std::uint32_t>(claimed));
  }
  out.put(hash);
  out.put(body);
  return out.bytes;
}

class CompressedBundle : public testing::TestWithParam<std::tuple<int, int>> {};
INSTANTIATE_TEST_SUITE_P(EveryVersionAndMethod, CompressedBundle,
                         testing::Combine(testing::Values(1, 2, 3), testing::Values(0, 1)),
                         [](const auto& row) {
                           return fmt::format("v{}{}", std::get<0>(row.param),
                                              std::get<1>(row.param) == 0 ? "zlib" : "zstd");
                         });

TEST_P(CompressedBundle, UnpacksToThePlainBundle) {
  const auto [version, method] = GetParam();
  const Bytes plain = object_bytes("plain.hipfb");
  const Bytes packed = write_compressed(plain, version, method);
  const Decompressed result = decompress_bundle(ByteView(packed, "packed"), 0);
  EXPECT_EQ(result.bundle, plain);
  EXPECT_EQ(result.compressed_size, packed.size());
}

TEST_P(CompressedBundle, TwoInARowAreBothFound) {
  const auto [version, method] = GetParam();
  Bytes packed = write_compressed(object_bytes("plain.hipfb"), version, method);
  packed.resize((packed.size() + 4095) / 4096 * 4096);
  const Bytes second = write_compressed(object_bytes("plain.hipfb"), version, method);
  packed.insert(packed.end(), second.begin(), second.end());
  EXPECT_THAT(kernels_in(packed), ElementsAre("first_unit", "first_unit"));
}

std::string refusal(const Bytes& bytes) {
  try {
    decompress_bundle(ByteView(bytes, "packed"), 0);
  } catch (const CodeObjectError& error) {
    return error.what();
  }
  return "unpacked";
}

TEST_P(CompressedBundle, AWrongSizeOrHashIsRefused) {
  const auto [version, method] = GetParam();
  const Bytes plain = object_bytes("plain.hipfb");
  EXPECT_THAT(refusal(write_compressed(plain, version, method, -1)),
              HasSubstr("longer than its header says"));
  EXPECT_THAT(refusal(write_compressed(plain, version, method, +1)), HasSubstr("its header says"));
  EXPECT_THAT(refusal(write_compressed(plain, version, method, 0, 1)), HasSubstr("hash"));
}

TEST_P(CompressedBundle, AStreamThatEndsEarlyIsRefused) {
  const auto [version, method] = GetParam();
  Bytes packed = write_compressed(object_bytes("plain.hipfb"), version, method);
  packed.resize(packed.size() / 2);
  if (version == 2) {
    const auto total = static_cast<std::uint32_t>(packed.size());
    std::memcpy(packed.data() + 8, &total, sizeof(total));
  }
  if (version == 3) {
    const std::uint64_t total = packed.size();
    std::memcpy(packed.data() + 8, &total, sizeof(total));
  }
  EXPECT_THAT(refusal(packed), HasSubstr("stream ends early"));
}

TEST(CompressedBundleHeader, UnknownVersionsAndMethodsAreNamed) {
  const Bytes plain = object_bytes("plain.hipfb");
  EXPECT_THAT(refusal(write_compressed(plain, 4, 1)), HasSubstr("version 4, known are 1, 2 and 3"));
  Bytes method = write_compressed(plain, 3, 1);
  method[6] = std::byte{7};
  EXPECT_THAT(refusal(method), HasSubstr("method 7, known are 0 (zlib) and 1 (zstd)"));
}

TEST(CompressedBundleHeader, AForgedSizeAllocatesNothing) {
  Bytes packed = write_compressed(object_bytes("plain.hipfb"), 3, 1);
  const std::uint64_t huge = std::uint64_t{1} << 60;
  std::memcpy(packed.data() + 16, &huge, sizeof(huge));
  EXPECT_THAT(refusal(packed), HasSubstr("more than"));
}

}  // namespace
}  // namespace mhcheck::codeobject
