// Laws: what every correct kernel keeps, whatever the values. One row a law, in laws.cpp; docs/laws.md says
// why each holds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/base/case.h"
#include "reference/base/tensor.h"

namespace mhcheck::properties {

// What a run leaves beside the outputs.
struct RunTrace {
  std::uint64_t launches = 0;
  std::string written_outside;  // one line where memory beside the outputs changed; else empty
};

// The kernels that laws are put to, wherever they run.
class Subject {
 public:
  virtual ~Subject() = default;

  // Empty when there is a kernel that takes the problem; otherwise why there is none, in one line.
  virtual std::string why_refused(const Problem& problem) const = 0;
  // Where the operator's kernel rounds. For operators that it has.
  virtual RoundingProfile profile(Op op) const = 0;
  // The same token gives the same bits at any num_tokens and any position. For operators that it has.
  virtual bool batch_invariant(Op op) const = 0;
  // Runs a problem that is not refused. `outputs` holds the tensors of output_specs, filled with what the
  // kernel finds there; `inputs` is the kernel's own memory. Both are left as the kernel leaves them. Throws
  // what the subject throws where a kernel faults.
  virtual RunTrace run(const Problem& problem, TensorMap& inputs, TensorMap& outputs) = 0;
};

// A case that laws are put to: what several of them need is made once.
class Trial {
 public:
  // The subject takes the case's problem and rounds as the case says.
  Trial(const Case& tested, Subject& subject) : tested_(tested), subject_(subject) {}

  const Case& tested() const { return tested_; }
  const Problem& problem() const { return tested_.problem; }
  Subject& subject() { return subject_; }
  const Subject& subject() const { return subject_; }

  const TensorMap& inputs();
  // What the subject makes of them, with poisoned outputs.
  const TensorMap& outputs();

 private:
  Case tested_;
  Subject& subject_;
  std::optional<TensorMap> inputs_, outputs_;
};

struct Law {
  std::string_view name;
  std::string_view sentence;
  // Empty where the law says something about the case and the subject; otherwise why not, in one line.
  std::string (*why_not)(const Trial&);
  // How it is broken, in one line. To be asked where why_not is empty. Throws what Subject::run throws.
  std::optional<std::string> (*broken)(Trial&);
};

std::span<const Law> all_laws();

// "all", "none", or names separated by commas: in the order of all_laws, each once. Throws
// std::invalid_argument, one line that lists what there is.
std::vector<const Law*> parse_laws(std::string_view list);
// The list that parse_laws takes.
std::string to_string(std::span<const Law* const> laws);

}  // namespace mhcheck::properties
