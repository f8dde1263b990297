// One line that says how far a campaign is, on a terminal only.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>

namespace mhcheck::conformance {

class ProgressLine {
 public:
  // `cases` is how many there will be, where that is known.
  explicit ProgressLine(std::optional<std::uint64_t> cases)
      : cases_(cases), on_terminal_(isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() { hide(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Until it is next shown: for what is printed meanwhile.
  void hide() {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
    shown_ = false;
  }

  void advance(bool failed) {
    ++done_;
    failed_ += failed;
    if (!on_terminal_) return;
    using namespace std::chrono_literals;
    const auto now = std::chrono::steady_clock::now();
    // What is over within two seconds needs no line.
    if (now - start_ < 2s || now - last_ < 100ms) return;
    last_ = now;
    shown_ = true;
    fmt::print(stderr, "\r\x1b[K{}{} cases, {} failed, {:.0f} s", done_,
               cases_ ? fmt::format(" of {}", *cases_) : "", failed_,
               std::chrono::duration<double>(now - start_).count());
    std::fflush(stderr);
  }

 private:
  const std::optional<std::uint64_t> cases_;
  const bool on_terminal_;
  std::uint64_t done_ = 0, failed_ = 0;
  bool shown_ = false;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = start_;
};

}  // namespace mhcheck::conformance
