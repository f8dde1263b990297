#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/codeobject/byte_view.h"

namespace mhcheck::codeobject {

inline constexpr std::string_view kCompressedBundleMagic = "CCOB";

struct Decompressed {
  std::vector<std::byte> bundle;      ///< a plain offload bundle
  std::uint64_t compressed_size = 0;  ///< bytes that the compressed one takes in the file, header included
};

/// Unpacks the compressed offload bundle at an offset (clang's `--offload-compress`; versions 1, 2 and 3,
/// zlib and zstd) and checks the hash in its header. Throws CodeObjectError.
Decompressed decompress_bundle(const ByteView& file, std::uint64_t offset);

}  // namespace mhcheck::codeobject
