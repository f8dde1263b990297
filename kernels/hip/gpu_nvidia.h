// gpu.h for NVIDIA GPUs from sm_80 on: waves ("warps") of 32 lanes, mma, shuffles.
#pragma once

#define MHC_OF_THREADS(COUNT) __attribute__((launch_bounds(COUNT)))

namespace mhc {

constexpr int kWaveSize = 32;

// ---- Where a thread is -----------------------------------------------------------------------------------

MHC_DEVICE int thread_id() { return __nvvm_read_ptx_sreg_tid_x(); }
MHC_DEVICE int workgroup_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
MHC_DEVICE int workgroup_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
MHC_DEVICE int lane_id() { return thread_id() % kWaveSize; }
MHC_DEVICE int wave_id() { return thread_id() / kWaveSize; }

MHC_DEVICE void barrier() { __syncthreads(); }

// ---- Elementary functions, at most 2 ulp -----------------------------------------------------------------

MHC_DEVICE float exp2(float x) { return __nvvm_ex2_approx_f(x); }
MHC_DEVICE float reciprocal(float x) { return __nvvm_rcp_approx_ftz_f(x); }
MHC_DEVICE float reciprocal_root(float x) { return __nvvm_rsqrt_approx_f(x); }

// ---- Exchanges between lanes. All lanes of the wave take part: see wave.h --------------------------------

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kWholeWave = 0x1f;  // shuffles do not stop at parts of the wave

// What the lane holds whose number differs in this one bit.
template <int kBit>
MHC_DEVICE float partner(float value) {
  return __builtin_bit_cast(
      float, __nvvm_shfl_sync_bfly_i32(kAllLanes, __builtin_bit_cast(int, value), kBit, kWholeWave));
}

MHC_DEVICE float from_lane(float value, int lane) {
  return __builtin_bit_cast(
      float, __nvvm_shfl_sync_idx_i32(kAllLanes, __builtin_bit_cast(int, value), lane, kWholeWave));
}

// ---- Matrix products: the comments are in gpu_gfx950.h ---------------------------------------------------
//
// Rows and columns lie as mma.m16n8k16 wants them (PTX ISA, "Matrix fragments for mma.m16n8k16"), but for the
// order of the columns, which is the same in both factors.

constexpr int kFragmentVectors = 2;
MHC_DEVICE int fragment_row(int vector) { return lane_id() / 4 + 8 * vector; }
MHC_DEVICE int fragment_column() { return lane_id() % 4 * 8; }
constexpr int kFragmentLanesBegin = 1, kFragmentLanesEnd = 4;

constexpr int kTileResults = 8;
using Tile = Vec8<float>;  // two products of 16 x 8, one after the other
MHC_DEVICE int tile_i(int result) { return lane_id() / 4 + result % 4 / 2 * 8; }
MHC_DEVICE int tile_j(int result) { return lane_id() % 4 * 2 + result % 2 + result / 4 * 8; }

// In fp32 throughout, for which there is no matrix unit: a lane fetches the factors of its results from the
// lanes that hold them, each for all tiles that need it.
template <int kTilesI, int kTilesJ>
MHC_DEVICE void multiply_add(Tile (&tiles)[kTilesJ][kTilesI],
                             const Vec8<float> (&a)[kTilesI][kFragmentVectors],
                             const Vec8<float> (&b)[kTilesJ][kFragmentVectors]) {
  const int lane = lane_id();
#pragma unroll
  for (int k = 0; k < 8; ++k) {
#pragma unroll
    for (int holder = 0; holder < 4; ++holder) {
      const int row = lane / 4 * 4 + holder, column = lane % 4 * 8 + holder;
      float from_a[kTilesI][2];
#pragma unroll
      for (int i = 0; i < kTilesI; ++i) {
#pragma unroll
        for (int v = 0; v < 2; ++v) from_a[i][v] = from_lane(a[i][v][k], row);
      }
#pragma unroll
      for (int j = 0; j < kTilesJ; ++j) {
        const float from_b[4] = {from_lane(b[j][0][k], column), from_lane(b[j][0][k], column + 4),
                                 from_lane(b[j][1][k], column), from_lane(b[j][1][k], column + 4)};
#pragma unroll
        for (int i = 0; i < kTilesI; ++i) {
#pragma unroll
          for (int result = 0; result < kTileResults; ++result) {
            tiles[j][i][result] += from_a[i][result % 4 / 2] * from_b[result % 2 + result / 4 * 2];
          }
        }
      }
    }
  }
}

// The four columns of a lane that begin with `first`, of 16 rows of `a` times 8 rows of `b`.
MHC_DEVICE void multiply_add_half(Tile& tile, int half, const Vec8<bf16> (&a)[2], const Vec8<bf16> (&b)[2],
                                  int first) {
  using Pairs = Vec4<unsigned>;  // of columns
  const Pairs low = __builtin_bit_cast(Pairs, a[0]), high = __builtin_bit_cast(Pairs, a[1]);
  const Pairs columns = __builtin_bit_cast(Pairs, b[half]);
  const int pair = first / 2;
  float d[4] = {tile[4 * half], tile[4 * half + 1], tile[4 * half + 2], tile[4 * half + 3]};
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(low[pair]), "r"(high[pair]), "r"(low[pair + 1]), "r"(high[pair + 1]), "r"(columns[pair]),
        "r"(columns[pair + 1]));
#pragma unroll
  for (int i = 0; i < 4; ++i) tile[4 * half + i] = d[i];
}

template <int kTilesI, int kTilesJ>
MHC_DEVICE void multiply_add(Tile (&tiles)[kTilesJ][kTilesI],
                             const Vec8<bf16> (&a)[kTilesI][kFragmentVectors],
                             const Vec8<bf16> (&b)[kTilesJ][kFragmentVectors]) {
#pragma unroll
  for (int first = 0; first < 8; first += 4) {
#pragma unroll
    for (int j = 0; j < kTilesJ; ++j) {
#pragma unroll
      for (int i = 0; i < kTilesI; ++i) {
#pragma unroll
        for (int half = 0; half < 2; ++half) multiply_add_half(tiles[j][i], half, a[i], b[j], first);
      }
    }
  }
}

MHC_DEVICE void multiply_add_quads(Vec4<float>& sums, float a, float b) {
  const int first = lane_id() / 4 * 4;
#pragma unroll
  for (int i = 0; i < 4; ++i) sums[i] += from_lane(a, first + i) * b;
}

}  // namespace mhc
