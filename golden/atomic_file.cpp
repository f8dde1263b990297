#include "golden/atomic_file.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "golden/file_error.h"

namespace mhcheck::golden {

namespace {

// Where the bytes will stand: what a link points to, not the link. The rename at the end would replace a
// device or a pipe by a file, so anything but a file is refused.
std::filesystem::path target_of(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return path;
  if (!std::filesystem::is_regular_file(status)) {
    throw FileError(path, "is there and is no regular file; name a file, or one that is yet to be made");
  }
  return std::filesystem::canonical(path, error);
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path) : path_(target_of(path)), unfinished_(path_) {
  // The process id keeps two programs that write the same file from writing into one another.
  unfinished_ += fmt::format(".unfinished-{}", ::getpid());
  stream_ = std::fopen(unfinished_.c_str(), "wb");
  if (stream_ == nullptr) fail("cannot be created");
}

AtomicFile::~AtomicFile() {
  if (stream_ != nullptr) std::fclose(stream_);
  if (!unfinished_.empty()) ::unlink(unfinished_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;  // the span of no bytes may have no address, which fwrite must not get
  if (std::fwrite(bytes.data(), 1, bytes.size(), stream_) != bytes.size()) fail("cannot be written");
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::commit() {
  // Without the fsync a crash of the machine after the rename could leave an empty file under the final name.
  if (std::fflush(stream_) != 0 || ::fsync(::fileno(stream_)) != 0) fail("cannot be written");
  const int closed = std::fclose(stream_);
  stream_ = nullptr;
  if (closed != 0) fail("cannot be written");
  if (std::rename(unfinished_.c_str(), path_.c_str()) != 0) fail("cannot be replaced");
  unfinished_.clear();
}

void AtomicFile::fail(std::string_view action) const {
  throw FileError(path_, fmt::format("{}: {}", action, std::generic_category().message(errno)));
}

}  // namespace mhcheck::golden
