#pragma once

namespace mhc {

constexpr int kStreams = 4;                        // hc_mult
constexpr int kComb = kStreams * kStreams;         // entries of comb_mix
constexpr int kMixes = kStreams * (kStreams + 2);  // hc_mult3: rows of fn for pre, post and comb
constexpr int kThreads = 256;                      // of every workgroup

}  // namespace mhc
