#include "conformance/fuzz/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <system_error>

#include "golden/file_error.h"
#include "golden/strict_json.h"

namespace mhcheck::conformance {
namespace {

using golden::FileError;
using nlohmann::json;

// Changes with the meaning of a line, and with the cases that a seed stands for.
constexpr int kVersion = 1;

json complete(json header) {
  header["journal"] = "mhcheck fuzz";
  header["version"] = kVersion;
  return header;
}

[[noreturn]] void fail(const std::filesystem::path& path, std::string_view action) {
  throw FileError(path, fmt::format("{}: {}", action, std::generic_category().message(errno)));
}

std::string whole_text(int file, const std::filesystem::path& path) {
  std::string text;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t count = ::read(file, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, "cannot be read");
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

void require_same_campaign(const std::filesystem::path& path, const json& found, const json& wanted) {
  if (!found.is_object() || found.value("journal", json()) != wanted.at("journal")) {
    throw FileError(path, "is no journal of mhcheck fuzz; name another file");
  }
  for (const auto& [name, value] : wanted.items()) {
    const json there = found.value(name, json());
    if (there == value) continue;
    throw FileError(path, fmt::format("is the journal of another campaign: its {} is {}, this one's is {}; "
                                      "name another file",
                                      name, there.dump(), value.dump()));
  }
}

}  // namespace

Journal::Journal(std::filesystem::path path, json header) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) fail(path_, "cannot be opened");
  try {
    struct stat status;
    if (::fstat(file_, &status) != 0) fail(path_, "cannot be looked at");
    if (!S_ISREG(status.st_mode))
      throw FileError(path_, "is no regular file; name a file, or one that is yet to be made");
    // A lock of this process alone: workers, which inherit the file, may outlive it by a moment.
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (::fcntl(file_, F_SETLK, &lock) != 0) {
      if (errno != EAGAIN && errno != EACCES) fail(path_, "cannot be locked");
      throw FileError(path_, "is in use by another campaign; name another file, or wait for its end");
    }
    read(complete(std::move(header)));
  } catch (...) {
    ::close(file_);
    throw;
  }
}

Journal::~Journal() { ::close(file_); }

void Journal::read(const json& header) {
  std::string text = whole_text(file_, path_);
  const std::size_t end_of_lines = text.rfind('\n') + 1;  // 0 where there is none
  if (end_of_lines < text.size()) {
    // Only a journal's own unfinished line is cut off, not whatever file was named by mistake.
    if (end_of_lines == 0 && !header.dump().starts_with(text)) {
      throw FileError(path_, "is no journal of mhcheck fuzz; name another file");
    }
    text.resize(end_of_lines);
  }
  std::set<std::uint64_t> numbers;
  std::size_t line_number = 0;
  for (std::size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (++line_number == 1) {
      require_same_campaign(path_, json::parse(line, nullptr, /*allow_exceptions=*/false), header);
      continue;
    }
    try {
      const json fields = golden::parse_strict_json(path_.native(), line, begin);
      Record record = record_from_json(fields);
      if (!numbers.insert(record.number).second) {
        throw std::invalid_argument(fmt::format("case {} stands twice", record.number));
      }
      seconds_before_ = std::max(seconds_before_, fields.at("campaign_seconds").get<double>());
      finished_.push_back(std::move(record));
    } catch (const FileError&) {
      throw;
    } catch (const std::exception& e) {
      throw FileError(path_, fmt::format("line {}: {}", line_number, e.what()));
    }
  }
  if (::ftruncate(file_, static_cast<off_t>(end_of_lines)) != 0) fail(path_, "cannot be written");
  if (line_number == 0) write(header);
}

void Journal::add(const Record& record, double seconds) {
  json line = to_json(record);
  line["campaign_seconds"] = seconds;
  write(line);
}

void Journal::write(const json& content) {
  const std::string line = content.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  for (std::size_t written = 0; written < line.size();) {
    const ssize_t count = ::write(file_, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path_, "cannot be written");
    written += static_cast<std::size_t>(count);
  }
}

}  // namespace mhcheck::conformance
