#include "conformance/fuzz/worker_process.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace mhcheck::conformance {
namespace {

using nlohmann::json;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

// False when the other end is closed.
bool write_line(int socket, const json& content) {
  const std::string line = content.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  for (std::size_t written = 0; written < line.size();) {
    // MSG_NOSIGNAL: a peer that is gone is no reason to die of SIGPIPE.
    const ssize_t count = ::send(socket, line.data() + written, line.size() - written, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    written += static_cast<std::size_t>(count);
  }
  return true;
}

// Moves the complete lines of `text` out of it.
std::vector<std::string> take_lines(std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines.push_back(text.substr(begin, end - begin));
  }
  text.erase(0, begin);
  return lines;
}

void limit_memory(std::uint64_t most_memory) {
  if (most_memory == 0) return;
  const rlimit limit{most_memory, most_memory};
  ::setrlimit(RLIMIT_DATA, &limit);
}

// noexcept: what is thrown and is no std::exception ends this process, and does not unwind into code that is
// the parent's.
[[noreturn]] void serve(int socket, const std::function<AnswerRequests()>& make_answer) noexcept {
  const auto reply = [socket](const json& content) { write_line(socket, content); };
  try {
    const AnswerRequests answer = make_answer();
    std::string text;
    std::array<char, 4096> buffer;
    for (;;) {
      const ssize_t count = ::recv(socket, buffer.data(), buffer.size(), 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      text.append(buffer.data(), static_cast<std::size_t>(count));
      for (const std::string& line : take_lines(text)) answer(json::parse(line), reply);
    }
  } catch (const std::exception& e) {
    reply({{"unable", e.what()}});
  }
  // Not exit(): the parent's buffers and static objects are not the child's to flush and destroy.
  ::_exit(0);
}

}  // namespace

WorkerProcess::WorkerProcess(const std::function<AnswerRequests()>& make_answer, std::uint64_t most_memory) {
  std::array<int, 2> ends;
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) fail("socketpair");
  // What is buffered now would be written by both processes.
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  child_ = ::fork();
  if (child_ < 0) {
    const int error = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    errno = error;
    fail("fork");
  }
  if (child_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(0);  // it has ended before the line above took effect
    // These may reach a whole group of processes. It is for the parent to decide what they mean.
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_IGN);
    ::close(ends[0]);
    limit_memory(most_memory);
    // A crash is reported; its memory image is no use to anyone and may be large.
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    serve(ends[1], make_answer);
  }
  ::close(ends[1]);
  socket_ = ends[0];
}

WorkerProcess::~WorkerProcess() {
  ::close(socket_);
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void WorkerProcess::send(const json& request) { write_line(socket_, request); }

WorkerProcess::Received WorkerProcess::receive() {
  Received received;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (count <= 0) {
      received.ended = true;
      break;
    }
    unfinished_.append(buffer.data(), static_cast<std::size_t>(count));
  }
  for (const std::string& line : take_lines(unfinished_)) received.replies.push_back(json::parse(line));
  return received;
}

std::string WorkerProcess::how_it_ended() {
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  if (!WIFSIGNALED(status)) return fmt::format("exited with code {}", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  return fmt::format("killed by signal {} ({}){}", signal, ::strsignal(signal),
                     signal == SIGKILL ? ", which the system sends where memory runs out" : "");
}

}  // namespace mhcheck::conformance
