#include "golden/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <vector>

#include "golden/file_error.h"

namespace mhcheck::golden {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    require(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }

  void add(std::span<const std::byte> bytes) {
    require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }

  std::string hex_digest() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned int length = 0;
    require(EVP_DigestFinal_ex(context_.get(), digest.data(), &length) == 1);
    std::string hex;
    for (const unsigned char byte : std::span(digest).first(length)) hex += fmt::format("{:02x}", byte);
    return hex;
  }

 private:
  // Fails where a machine's OpenSSL is set up without SHA-256.
  static void require(bool succeeded) {
    if (!succeeded) throw std::runtime_error("OpenSSL cannot compute SHA-256 on this machine");
  }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex_digest();
}

std::string sha256_of_file(const std::filesystem::path& path) {
  // Opening a pipe would wait for somebody to write into it.
  if (std::error_code error;
      std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {
    throw FileError(path, "is no regular file");
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    throw FileError(path, fmt::format("cannot be opened: {}", std::generic_category().message(errno)));
  Sha256 hash;
  std::vector<char> piece(std::size_t{1} << 20);
  while (stream) {
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    hash.add(std::as_bytes(std::span(piece)).first(static_cast<std::size_t>(stream.gcount())));
  }
  if (stream.bad() || !stream.eof()) throw FileError(path, "cannot be read to its end");
  return hash.hex_digest();
}

}  // namespace mhcheck::golden
