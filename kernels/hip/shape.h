#pragma once

namespace mhc {

constexpr int kStreams = 4;                        // hc_mult
constexpr int kMixes = kStreams * (kStreams + 2);  // hc_mult3
constexpr int kThreads = 256;                      // of every workgroup

}  // namespace mhc
