// A child process that answers requests, one JSON line each: whatever becomes of it, the parent lives on.
#pragma once

#include <sys/types.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace mhcheck::conformance {

// What the child does with a request; it may reply any number of times.
using Reply = std::function<void(const nlohmann::json&)>;
using AnswerRequests = std::function<void(const nlohmann::json& request, const Reply& reply)>;

class WorkerProcess {
 public:
  // Forks: the calling process must have no other thread. `make_answer` runs in the child, which ends when
  // the parent does. An exception there is replied as {"unable": "one line"}. `most_memory` bytes of data are
  // all that the child may have; 0 sets no limit. Throws std::system_error.
  WorkerProcess(const std::function<AnswerRequests()>& make_answer, std::uint64_t most_memory);
  // Kills the child.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // For poll(): readable when there are replies, or when the child has ended.
  int descriptor() const { return socket_; }

  // A child that has ended does not hear it.
  void send(const nlohmann::json& request);

  struct Received {
    std::vector<nlohmann::json> replies;
    bool ended = false;  // nothing more will come
  };
  // What has come in; does not wait.
  Received receive();

  // Waits for a child that has ended: "killed by signal 11 (Segmentation fault)", "exited with code 3".
  std::string how_it_ended();

 private:
  int socket_ = -1;
  pid_t child_ = -1;
  std::string unfinished_;  // the begin of a line
};

}  // namespace mhcheck::conformance
