// The child process: whatever it does, the parent hears of it and lives on.
#include "conformance/fuzz/worker_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace mhcheck::conformance {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Replies with the request, or does what it says.
AnswerRequests obedient() {
  return [](const json& request, const Reply& reply) {
    if (request == "crash") ::raise(SIGSEGV);
    if (request == "abort") std::abort();
    if (request == "exit") ::_exit(3);
    if (request == "throw") throw std::runtime_error("cannot do this");
    if (request == "hang") {
      for (;;) ::pause();
    }
    if (request == "eat") {
      std::vector<std::vector<char>> eaten;
      for (;;) eaten.emplace_back(std::size_t{1} << 24, 'x');
    }
    reply(request);
    reply({{"twice", request}});
  };
}

// Waits until there is something to receive.
WorkerProcess::Received received(WorkerProcess& worker) {
  pollfd watched{worker.descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&watched, 1, /*milliseconds=*/20000), 1);
  return worker.receive();
}

std::string end_after(const char* request) {
  WorkerProcess worker(obedient, 0);
  worker.send(request);
  EXPECT_TRUE(received(worker).ended);
  return worker.how_it_ended();
}

TEST(WorkerProcess, RepliesToEachRequest) {
  WorkerProcess worker(obedient, 0);
  const std::string long_text(200000, 'y');  // more than a socket holds at a time
  for (const json& request : {json("first"), json(long_text), json({{"third", 3}})}) {
    worker.send(request);
    std::vector<json> replies;
    while (replies.size() < 2) {
      const WorkerProcess::Received more = received(worker);
      ASSERT_FALSE(more.ended);
      replies.insert(replies.end(), more.replies.begin(), more.replies.end());
    }
    EXPECT_EQ(replies[0], request);
    EXPECT_EQ(replies[1], json({{"twice", request}}));
  }
}

TEST(WorkerProcess, SaysHowItEnded) {
  EXPECT_THAT(end_after("abort"), HasSubstr("killed by signal 6 (Aborted)"));
  EXPECT_EQ(end_after("exit"), "exited with code 3");
}

// AddressSanitizer turns the signal into a report and an exit code.
TEST(WorkerProcess, SurvivesACrash) {
  const std::string how = end_after("crash");
#if defined(__SANITIZE_ADDRESS__)
  EXPECT_THAT(how, HasSubstr("exited with code"));
#else
  EXPECT_THAT(how, HasSubstr("killed by signal 11 (Segmentation fault)"));
#endif
}

TEST(WorkerProcess, RepliesWithTheOneLineOfAnException) {
  WorkerProcess worker(obedient, 0);
  worker.send("throw");
  WorkerProcess::Received all = received(worker);
  while (!all.ended) {
    const WorkerProcess::Received more = received(worker);
    all.replies.insert(all.replies.end(), more.replies.begin(), more.replies.end());
    all.ended = more.ended;
  }
  EXPECT_EQ(all.replies, (std::vector<json>{{{"unable", "cannot do this"}}}));
}

#if !defined(__SANITIZE_ADDRESS__)  // which takes more memory than any limit
TEST(WorkerProcess, HasNoMoreMemoryThanItIsGiven) {
  WorkerProcess worker(obedient, std::uint64_t{256} << 20);
  worker.send("eat");
  const WorkerProcess::Received all = received(worker);
  EXPECT_EQ(all.replies, (std::vector<json>{{{"unable", "std::bad_alloc"}}}));
}
#endif

TEST(WorkerProcess, IsKilledWithTheObject) {
  using namespace std::chrono;
  const auto start = steady_clock::now();
  {
    WorkerProcess worker(obedient, 0);
    worker.send("hang");
  }
  EXPECT_LT(steady_clock::now() - start, 10s);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child may be left";
}

TEST(WorkerProcess, EndsWithItsParent) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    ::close(ends[0]);
    // The worker inherits the pipe's end: it closes when parent and worker are gone.
    auto* worker = new WorkerProcess(obedient, 0);
    worker->send("hang");
    ::raise(SIGKILL);
  }
  ::close(ends[1]);
  ::waitpid(parent, nullptr, 0);
  pollfd watched{ends[0], POLLIN, 0};
  ASSERT_EQ(::poll(&watched, 1, /*milliseconds=*/20000), 1) << "the worker outlived its parent";
  char byte;
  EXPECT_EQ(::read(ends[0], &byte, 1), 0);
  ::close(ends[0]);
}

TEST(WorkerProcess, SendingToOneThatHasEndedIsHarmless) {
  WorkerProcess worker(obedient, 0);
  worker.send("exit");
  EXPECT_TRUE(received(worker).ended);
  worker.send("anything");
  EXPECT_EQ(worker.how_it_ended(), "exited with code 3");
}

}  // namespace
}  // namespace mhcheck::conformance
