#pragma once

namespace mutants {

constexpr int kStreams = 4;                        // hc_mult
constexpr int kMixes = kStreams * (kStreams + 2);  // hc_mult3: pre, post, comb
constexpr int kSums = kMixes + 1;                  // and the sum of squares
constexpr int kThreads = 256;                      // of a workgroup, unless a mutant has others

}  // namespace mutants
