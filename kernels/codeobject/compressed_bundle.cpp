#include "kernels/codeobject/compressed_bundle.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/MD5.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

namespace mhcheck::codeobject {
namespace {

// Nothing is allocated because a header says so; this only ends what a forged stream could expand to.
constexpr std::uint64_t kLargestBundle = std::uint64_t{2} << 30;
constexpr std::size_t kChunk = std::size_t{1} << 20;

enum class Method : std::uint16_t { kZlib = 0, kZstd = 1 };

struct Header {
  std::uint64_t size = 0;
  std::optional<std::uint64_t> total;  // version 1 does not say how long it is
  std::uint64_t uncompressed = 0;
  std::uint64_t hash = 0;
  Method method = Method::kZlib;
};

Header read_header(const ByteView& file, std::uint64_t offset) {
  const auto version = file.read<std::uint16_t>(offset + 4, "the version of a compressed offload bundle");
  const auto method = file.read<std::uint16_t>(offset + 6, "the method of a compressed offload bundle");
  Header header;
  switch (version) {
    case 1:
      header.size = 20;
      header.uncompressed = file.read<std::uint32_t>(offset + 8, "the header of a compressed offload bundle");
      header.hash = file.read<std::uint64_t>(offset + 12, "the header of a compressed offload bundle");
      break;
    case 2:
      header.size = 24;
      header.total = file.read<std::uint32_t>(offset + 8, "the header of a compressed offload bundle");
      header.uncompressed =
          file.read<std::uint32_t>(offset + 12, "the header of a compressed offload bundle");
      header.hash = file.read<std::uint64_t>(offset + 16, "the header of a compressed offload bundle");
      break;
    case 3:
      header.size = 32;
      header.total = file.read<std::uint64_t>(offset + 8, "the header of a compressed offload bundle");
      header.uncompressed =
          file.read<std::uint64_t>(offset + 16, "the header of a compressed offload bundle");
      header.hash = file.read<std::uint64_t>(offset + 24, "the header of a compressed offload bundle");
      break;
    default:
      file.fail(Reason::kUnsupported,
                fmt::format("the compressed offload bundle at {:#x} has version {}, known are 1, 2 and 3",
                            offset, version));
  }
  if (method > 1) {
    file.fail(
        Reason::kUnsupported,
        fmt::format("the compressed offload bundle at {:#x} uses method {}, known are 0 (zlib) and 1 (zstd)",
                    offset, method));
  }
  header.method = static_cast<Method>(method);
  if (header.uncompressed > kLargestBundle) {
    file.fail(
        Reason::kCorrupt,
        fmt::format("the compressed offload bundle at {:#x} claims {} bytes uncompressed, more than the {} "
                    "that any real one has",
                    offset, header.uncompressed, kLargestBundle));
  }
  if (header.total && *header.total < header.size) {
    file.fail(Reason::kCorrupt,
              fmt::format("the compressed offload bundle at {:#x} claims {} bytes in all, less "
                          "than its own header of {}",
                          offset, *header.total, header.size));
  }
  return header;
}

// Output that grows as data arrives, to the announced size and no further.
class Sink {
 public:
  explicit Sink(std::uint64_t limit) : limit_(limit) {}

  // Room for at least one byte more than the announced size: a stream that is too long shows itself.
  std::span<std::byte> room() {
    buffer_.resize(filled_ + std::min<std::uint64_t>(kChunk, limit_ + 1 - filled_));
    return std::span(buffer_).subspan(filled_);
  }
  void advance(std::size_t produced) { filled_ += produced; }
  bool too_long() const { return filled_ > limit_; }
  std::vector<std::byte> take() {
    buffer_.resize(filled_);
    return std::move(buffer_);
  }

 private:
  std::uint64_t limit_;
  std::uint64_t filled_ = 0;
  std::vector<std::byte> buffer_;
};

struct Stream {
  std::vector<std::byte> output;
  std::size_t consumed = 0;
  std::string error;  // empty when the stream was whole
};

Stream inflate_zlib(std::span<const std::byte> input, std::uint64_t announced) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return {.output = {}, .consumed = 0, .error = "zlib cannot start"};
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> cleanup(&stream, &inflateEnd);

  Sink sink(announced);
  std::size_t given = 0;
  for (int status = Z_OK; status != Z_STREAM_END;) {
    if (stream.avail_in == 0) {
      const std::size_t count = std::min(input.size() - given, kChunk);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data() + given));
      stream.avail_in = static_cast<uInt>(count);
      given += count;
    }
    const std::span<std::byte> room = sink.room();
    stream.next_out = reinterpret_cast<Bytef*>(room.data());
    stream.avail_out = static_cast<uInt>(room.size());
    status = inflate(&stream, Z_NO_FLUSH);
    sink.advance(room.size() - stream.avail_out);
    if (sink.too_long()) return {.output = {}, .consumed = 0, .error = "it is longer than its header says"};
    if (status == Z_BUF_ERROR) return {.output = {}, .consumed = 0, .error = "its zlib stream ends early"};
    if (status != Z_OK && status != Z_STREAM_END) {
      return {.output = {},
              .consumed = 0,
              .error = fmt::format("zlib says: {}", stream.msg != nullptr ? stream.msg : zError(status))};
    }
  }
  return {.output = sink.take(), .consumed = given - stream.avail_in, .error = {}};
}

Stream inflate_zstd(std::span<const std::byte> input, std::uint64_t announced) {
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(),
                                                                          &ZSTD_freeDStream);
  Sink sink(announced);
  ZSTD_inBuffer in{input.data(), input.size(), 0};
  for (;;) {
    const std::span<std::byte> room = sink.room();
    ZSTD_outBuffer out{room.data(), room.size(), 0};
    const std::size_t consumed_before = in.pos;
    const std::size_t status = ZSTD_decompressStream(stream.get(), &out, &in);
    if (ZSTD_isError(status)) {
      return {.output = {}, .consumed = 0, .error = fmt::format("zstd says: {}", ZSTD_getErrorName(status))};
    }
    sink.advance(out.pos);
    if (sink.too_long()) return {.output = {}, .consumed = 0, .error = "it is longer than its header says"};
    if (status == 0) break;
    const bool stuck = out.pos == 0 && in.pos == consumed_before;
    if (stuck) return {.output = {}, .consumed = 0, .error = "its zstd stream ends early"};
  }
  return {.output = sink.take(), .consumed = in.pos, .error = {}};
}

// What clang stores: the low half of the MD5 of the plain bundle.
std::uint64_t hash_of(std::span<const std::byte> bytes) {
  return llvm::MD5::hash(llvm::ArrayRef(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()))
      .low();
}

}  // namespace

Decompressed decompress_bundle(const ByteView& file, std::uint64_t offset) {
  const Header header = read_header(file, offset);
  const std::uint64_t body_size =
      header.total ? *header.total - header.size : file.size() - offset - header.size;
  const auto body = file.slice(offset + header.size, body_size, "the data of a compressed offload bundle");

  Stream stream = header.method == Method::kZlib ? inflate_zlib(body, header.uncompressed)
                                                 : inflate_zstd(body, header.uncompressed);
  if (!stream.error.empty()) {
    file.fail(Reason::kCorrupt, fmt::format("the compressed offload bundle at {:#x} cannot be unpacked: {}",
                                            offset, stream.error));
  }
  if (stream.output.size() != header.uncompressed) {
    file.fail(Reason::kCorrupt,
              fmt::format("the compressed offload bundle at {:#x} unpacks to {} bytes, its header says {}",
                          offset, stream.output.size(), header.uncompressed));
  }
  if (hash_of(stream.output) != header.hash) {
    file.fail(
        Reason::kCorrupt,
        fmt::format("the compressed offload bundle at {:#x} unpacks to bytes with hash {:#018x}, its header "
                    "says {:#018x}",
                    offset, hash_of(stream.output), header.hash));
  }
  return {.bundle = std::move(stream.output),
          .compressed_size = header.total.value_or(header.size + stream.consumed)};
}

}  // namespace mhcheck::codeobject
