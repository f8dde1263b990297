#include "conformance/fuzz/time_limit.h"

namespace mhcheck::conformance {

std::chrono::duration<double> time_limit(const Case& c, const KernelRow& row) {
  // Starting the kernels, on a machine that others keep busy, and a simulator that runs an endless wave up to
  // its own limit of instructions.
  constexpr double kStart = 60;
  // Of kernel and judgement together 15 ns were measured for each product of the projection and each other
  // element of the streams, on the slowest way, the simulator with all sanitizers. Seven times that: what
  // the reference takes to multiprecision costs more.
  constexpr double kPerProduct = 100e-9;
  // A law runs the kernel on changed inputs, some of them several times.
  constexpr double kRunsOfALaw = 3;

  const Problem& p = c.problem;
  const double products = static_cast<double>(p.num_tokens) * static_cast<double>(p.hc_hidden_size()) *
                          static_cast<double>(1 + p.hc_mult3());
  const double runs =
      1 + static_cast<double>(row.schedules) + kRunsOfALaw * static_cast<double>(row.laws.size());
  return std::chrono::duration<double>(kStart + kPerProduct * products * runs);
}

}  // namespace mhcheck::conformance
