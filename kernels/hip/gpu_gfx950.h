// gpu.h for gfx950: waves of 64 lanes, MFMA, DPP.
#pragma once

#define MHC_OF_THREADS(COUNT) __attribute__((amdgpu_flat_work_group_size(COUNT, COUNT)))

namespace mhc {

constexpr int kWaveSize = 64;

// ---- Where a thread is -----------------------------------------------------------------------------------

MHC_DEVICE int thread_id() { return static_cast<int>(__builtin_amdgcn_workitem_id_x()); }
MHC_DEVICE int workgroup_x() { return static_cast<int>(__builtin_amdgcn_workgroup_id_x()); }
MHC_DEVICE int workgroup_y() { return static_cast<int>(__builtin_amdgcn_workgroup_id_y()); }
MHC_DEVICE int lane_id() { return thread_id() % kWaveSize; }
// In a scalar register: a branch on it never splits a wave.
MHC_DEVICE int wave_id() { return __builtin_amdgcn_readfirstlane(thread_id() / kWaveSize); }

// Every thread's accesses to shared memory before it come before those after it.
MHC_DEVICE void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

// ---- Elementary functions, 1 ulp -------------------------------------------------------------------------

MHC_DEVICE float exp2(float x) { return __builtin_amdgcn_exp2f(x); }
MHC_DEVICE float reciprocal(float x) { return __builtin_amdgcn_rcpf(x); }
MHC_DEVICE float reciprocal_root(float x) { return __builtin_amdgcn_rsqf(x); }

// ---- Exchanges between lanes. All lanes of the wave take part: see wave.h --------------------------------

namespace dpp {
// The controls of the ISA manual, "Data Parallel Primitives".
constexpr int kXor1 = 0xB1;         // quad_perm [1,0,3,2]
constexpr int kXor2 = 0x4E;         // quad_perm [2,3,0,1]
constexpr int kXor3 = 0x1B;         // quad_perm [3,2,1,0]
constexpr int kHalfMirror = 0x141;  // lane 7 - i of eight: xor 7
constexpr int kRotate8 = 0x128;     // row_ror:8 of sixteen: xor 8

template <int kControl>
MHC_DEVICE float move(float value) {
  constexpr int kAllRows = 0xf, kAllBanks = 0xf;
  return __builtin_bit_cast(float, __builtin_amdgcn_mov_dpp(__builtin_bit_cast(int, value), kControl,
                                                            kAllRows, kAllBanks, /*bound_ctrl=*/true));
}
}  // namespace dpp

// What the lane holds whose number differs in this one bit.
template <int kBit>
MHC_DEVICE float partner(float value) {
  const unsigned bits = __builtin_bit_cast(unsigned, value);
  if constexpr (kBit == 1) return dpp::move<dpp::kXor1>(value);
  if constexpr (kBit == 2) return dpp::move<dpp::kXor2>(value);
  if constexpr (kBit == 4) return dpp::move<dpp::kHalfMirror>(dpp::move<dpp::kXor3>(value));
  if constexpr (kBit == 8) return dpp::move<dpp::kRotate8>(value);
  // The swaps exchange the upper part of one register with the lower part of another: given the same value
  // twice, the first ends up with the lower part everywhere, the second with the upper.
  if constexpr (kBit == 16) {
    const auto swapped = __builtin_amdgcn_permlane16_swap(bits, bits, /*fi=*/false, /*bound_ctrl=*/false);
    return __builtin_bit_cast(float, lane_id() & kBit ? swapped[0] : swapped[1]);
  }
  if constexpr (kBit == 32) {
    const auto swapped = __builtin_amdgcn_permlane32_swap(bits, bits, /*fi=*/false, /*bound_ctrl=*/false);
    return __builtin_bit_cast(float, lane_id() & kBit ? swapped[0] : swapped[1]);
  }
}

// What one lane holds, for all: in a scalar register.
MHC_DEVICE float from_lane(float value, int lane) {
  return __builtin_bit_cast(float, __builtin_amdgcn_readlane(__builtin_bit_cast(int, value), lane));
}

// ---- Matrix products -------------------------------------------------------------------------------------
//
// A fragment is kDepth = 32 columns of a 16-row matrix, spread over the wave: in vector v of a lane are row
// fragment_row(v) and the 8 columns from fragment_column() on. A tile is the 16 x 16 product of two: row i of
// the first with row j of the second. Which of the 32 products of a result is added when is left to the
// matrix unit.

constexpr int kFragmentVectors = 1;
MHC_DEVICE int fragment_row(int) { return lane_id() % 16; }
MHC_DEVICE int fragment_column() { return lane_id() / 16 * 8; }
// The lanes that share a row of a fragment differ in these bits.
constexpr int kFragmentLanesBegin = 16, kFragmentLanesEnd = 64;

constexpr int kTileResults = 4;
using Tile = Vec4<float>;
MHC_DEVICE int tile_i(int result) { return lane_id() / 16 * 4 + result; }
MHC_DEVICE int tile_j(int) { return lane_id() % 16; }

// tiles[j][i] += fragment i of `a` times fragment j of `b`. Neighbouring instructions add to different tiles,
// none waits for the one before it.

// In fp32 throughout. The k-th of 8 rounds takes the k-th column of each lane.
template <int kTilesI, int kTilesJ>
MHC_DEVICE void multiply_add(Tile (&tiles)[kTilesJ][kTilesI],
                             const Vec8<float> (&a)[kTilesI][kFragmentVectors],
                             const Vec8<float> (&b)[kTilesJ][kFragmentVectors]) {
#pragma unroll
  for (int k = 0; k < 8; ++k) {
#pragma unroll
    for (int j = 0; j < kTilesJ; ++j) {
#pragma unroll
      for (int i = 0; i < kTilesI; ++i) {
        tiles[j][i] = __builtin_amdgcn_mfma_f32_16x16x4f32(a[i][0][k], b[j][0][k], tiles[j][i], 0, 0, 0);
      }
    }
  }
}

template <int kTilesI, int kTilesJ>
MHC_DEVICE void multiply_add(Tile (&tiles)[kTilesJ][kTilesI],
                             const Vec8<bf16> (&a)[kTilesI][kFragmentVectors],
                             const Vec8<bf16> (&b)[kTilesJ][kFragmentVectors]) {
#pragma unroll
  for (int j = 0; j < kTilesJ; ++j) {
#pragma unroll
    for (int i = 0; i < kTilesI; ++i) {
      tiles[j][i] = __builtin_amdgcn_mfma_f32_16x16x32_bf16(a[i][0], b[j][0], tiles[j][i], 0, 0, 0);
    }
  }
}

// Four rows against four: lane 4*block + i holds a number of row i of both, and block's share of the product
// of row i of `a` with row j of `b` is added to sums[i] of lane 4*block + j.
MHC_DEVICE void multiply_add_quads(Vec4<float>& sums, float a, float b) {
  sums = __builtin_amdgcn_mfma_f32_4x4x1f32(a, b, sums, 0, 0, 0);
}

}  // namespace mhc
