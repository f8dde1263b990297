#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

#include "tests/simulator/single_wave.h"
#include "tests/simulator/tested_mnemonics.h"
#include "tests/simulator/vector_row.h"

namespace mhcheck::simulator::testing {
namespace {

using K = Kind;
using I = const Inputs&;

uint32_t u(I in, int k) { return static_cast<uint32_t>(in.value[k]); }
int32_t s(I in, int k) { return static_cast<int32_t>(in.value[k]); }
int64_t h(I in, int k) { return static_cast<int16_t>(in.value[k]); }  // a signed half
uint64_t w(I in, int k) { return in.value[k]; }

// 128-bit arithmetic where the simulator uses 64: __extension__ because ISO C++ has no such type.
__extension__ using Wide = __int128;

uint64_t limited(I in, Wide value, Wide low, Wide high) {
  return static_cast<uint64_t>(in.clamp ? std::min(std::max(value, low), high) : value);
}
uint64_t limited_u32(I in, Wide value) { return limited(in, value, 0, 0xffffffff); }
uint64_t limited_i32(I in, Wide value) { return limited(in, value, -0x80000000ll, 0x7fffffff); }
uint64_t limited_u16(I in, Wide value) { return limited(in, value, 0, 0xffff); }
uint64_t limited_i16(I in, Wide value) { return limited(in, value, -0x8000, 0x7fff); }

int64_t signed24(uint32_t x) { return (x & 0xffffff) - ((x & 0x800000) ? 0x1000000ll : 0); }
uint64_t unsigned24(uint32_t x) { return x % 0x1000000; }

// Bit by bit, from the definition.
uint64_t field(uint64_t value, unsigned offset, unsigned width) {
  uint64_t result = 0;
  for (unsigned i = 0; i < width; ++i) result |= offset + i < 32 ? (value >> (offset + i) & 1) << i : 0;
  return result;
}
uint64_t signed_field(int32_t value, unsigned offset, unsigned width) {
  int64_t result = 0;
  for (unsigned i = 0; i < width; ++i) {
    const int64_t bit = offset + i < 32 ? value >> (offset + i) & 1 : value < 0;
    result += i + 1 == width ? -(bit << i) : bit << i;
  }
  return static_cast<uint64_t>(result);
}
uint64_t middle(Wide a, Wide b, Wide c) {
  Wide sorted[] = {a, b, c};
  std::sort(sorted, sorted + 3);
  return static_cast<uint64_t>(sorted[1]);
}
unsigned byte_at(uint64_t value, int i) { return value >> (8 * i) & 0xff; }
uint64_t byte_distances(uint32_t a, uint32_t b, bool skip_zero) {
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    if (!skip_zero || byte_at(b, i)) sum += std::abs(int(byte_at(a, i)) - int(byte_at(b, i)));
  }
  return static_cast<uint64_t>(sum);
}
uint64_t bytes_of(I in, int low, int high) {
  const auto byte = [&](int k) {
    const int64_t shifted = int64_t{s(in, k)} >> w(in, 2) % 32;
    return static_cast<uint64_t>(std::clamp<int64_t>(shifted, low, high)) & 0xff;
  };
  return byte(0) | byte(1) << 8;
}
uint64_t windows(I in, bool skip_zero) {
  uint64_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint64_t sum = byte_distances(static_cast<uint32_t>(w(in, 0) >> (8 * i)), u(in, 1), skip_zero) +
                         (w(in, 2) >> (16 * i) & 0xffff);
    result |= (limited_u16(in, static_cast<int64_t>(sum)) & 0xffff) << (16 * i);
  }
  return result;
}
uint64_t permuted(uint32_t a, uint32_t b, uint32_t select) {
  const unsigned bytes[] = {byte_at(b, 0), byte_at(b, 1), byte_at(b, 2), byte_at(b, 3),
                            byte_at(a, 0), byte_at(a, 1), byte_at(a, 2), byte_at(a, 3)};
  uint64_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned which = byte_at(select, i);
    unsigned byte = 0xff;
    if (which < 8) byte = bytes[which];
    if (which >= 8 && which < 12) byte = bytes[2 * (which - 8) + 1] & 0x80 ? 0xff : 0;
    if (which == 12) byte = 0;
    result |= uint64_t{byte} << (8 * i);
  }
  return result;
}
template <int kBits>
Wide dot(uint32_t a, uint32_t b, bool is_signed) {
  Wide sum = 0;
  for (int i = 0; i < 32; i += kBits) {
    int64_t x = a >> i & ((1u << kBits) - 1), y = b >> i & ((1u << kBits) - 1);
    if (is_signed && x >> (kBits - 1)) x -= 1ll << kBits;
    if (is_signed && y >> (kBits - 1)) y -= 1ll << kBits;
    sum += Wide{x} * y;
  }
  return sum;
}
uint64_t leading_zeros(uint32_t x) {
  for (unsigned i = 0; i < 32; ++i) {
    if (x >> (31 - i) & 1) return i;
  }
  return 0xffffffff;
}
uint64_t count_bits(uint64_t x) {
  uint64_t count = 0;
  for (; x; x >>= 1) count += x & 1;
  return count;
}

const std::vector<VectorRow>& rows() {
  static const std::vector<VectorRow> kRows = {
      {"v_mov_b32", K::kI32, {K::kI32}, [](I in) -> uint64_t { return u(in, 0); }, false, false, false},
      {"v_mov_b64", K::kI64, {K::kI64}, [](I in) { return w(in, 0); }, false, false, false},
      {"v_pack_b32_f16", K::kI32, {K::kI16, K::kI16}, [](I in) { return w(in, 0) | w(in, 1) << 16; }, false, false, false},
      {"v_add_u32", K::kI32, {K::kI32, K::kI32}, [](I in) { return limited_u32(in, Wide{u(in, 0)} + u(in, 1)); }},
      {"v_sub_u32", K::kI32, {K::kI32, K::kI32}, [](I in) { return limited_u32(in, Wide{u(in, 0)} - u(in, 1)); }},
      {"v_subrev_u32", K::kI32, {K::kI32, K::kI32}, [](I in) { return limited_u32(in, Wide{u(in, 1)} - u(in, 0)); }},
      {"v_add_i32", K::kI32, {K::kI32, K::kI32}, [](I in) { return limited_i32(in, Wide{s(in, 0)} + s(in, 1)); }},
      {"v_sub_i32", K::kI32, {K::kI32, K::kI32}, [](I in) { return limited_i32(in, Wide{s(in, 0)} - s(in, 1)); }},
      {"v_add_u16", K::kI16, {K::kI16, K::kI16}, [](I in) { return limited_u16(in, Wide{u(in, 0)} + u(in, 1)); }},
      {"v_sub_u16", K::kI16, {K::kI16, K::kI16}, [](I in) { return limited_u16(in, Wide{u(in, 0)} - u(in, 1)); }},
      {"v_subrev_u16", K::kI16, {K::kI16, K::kI16}, [](I in) { return limited_u16(in, Wide{u(in, 1)} - u(in, 0)); }},
      {"v_add_i16", K::kI16, {K::kI16, K::kI16}, [](I in) { return limited_i16(in, h(in, 0) + h(in, 1)); }},
      {"v_sub_i16", K::kI16, {K::kI16, K::kI16}, [](I in) { return limited_i16(in, h(in, 0) - h(in, 1)); }},
      {"v_add3_u32", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return w(in, 0) + w(in, 1) + w(in, 2); }, false, false, false},
      {"v_add_lshl_u32", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return (w(in, 0) + w(in, 1)) << w(in, 2) % 32; }, false, false, false},
      {"v_lshl_add_u32", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return (w(in, 0) << w(in, 1) % 32) + w(in, 2); }, false, false, false},
      {"v_lshl_add_u64", K::kI64, {K::kI64, K::kI32, K::kI64}, [](I in) { return (w(in, 0) << w(in, 1) % 8) + w(in, 2); }, false, false, false},
      {"v_xad_u32", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return (w(in, 0) ^ w(in, 1)) + w(in, 2); }, false, false, false},
      {"v_mul_lo_u32", K::kI32, {K::kI32, K::kI32}, [](I in) { return w(in, 0) * w(in, 1); }, false, false, false},
      {"v_mul_hi_u32", K::kI32, {K::kI32, K::kI32}, [](I in) { return static_cast<uint64_t>(Wide{u(in, 0)} * u(in, 1) >> 32); }, false, false, false},
      {"v_mul_hi_i32", K::kI32, {K::kI32, K::kI32}, [](I in) { return static_cast<uint64_t>(Wide{s(in, 0)} * s(in, 1) >> 32); }, false, false, false},
      {"v_mul_lo_u16", K::kI16, {K::kI16, K::kI16}, [](I in) { return w(in, 0) * w(in, 1); }, false, false, false},
      {"v_mul_u32_u24", K::kI32, {K::kI32, K::kI32}, [](I in) { return unsigned24(u(in, 0)) * unsigned24(u(in, 1)); }, false, false, false},
      {"v_mul_hi_u32_u24", K::kI32, {K::kI32, K::kI32}, [](I in) { return unsigned24(u(in, 0)) * unsigned24(u(in, 1)) >> 32; }, false, false, false},
      {"v_mul_i32_i24", K::kI32, {K::kI32, K::kI32}, [](I in) { return static_cast<uint64_t>(signed24(u(in, 0)) * signed24(u(in, 1))); }, false, false, false},
      {"v_mul_hi_i32_i24", K::kI32, {K::kI32, K::kI32}, [](I in) { return static_cast<uint64_t>(signed24(u(in, 0)) * signed24(u(in, 1)) >> 32); }, false, false, false},
      {"v_mad_u32_u24", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return limited_u32(in, Wide{unsigned24(u(in, 0))} * unsigned24(u(in, 1)) + u(in, 2)); }},
      {"v_mad_i32_i24", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return limited_i32(in, Wide{signed24(u(in, 0))} * signed24(u(in, 1)) + s(in, 2)); }},
      {"v_mad_u16", K::kI16, {K::kI16, K::kI16, K::kI16}, [](I in) { return limited_u16(in, Wide{u(in, 0)} * u(in, 1) + u(in, 2)); }},
      {"v_mad_i16", K::kI16, {K::kI16, K::kI16, K::kI16}, [](I in) { return limited_i16(in, Wide{h(in, 0)} * h(in, 1) + h(in, 2)); }},
      {"v_mad_legacy_u16", K::kI16, {K::kI16, K::kI16, K::kI16}, [](I in) { return limited_u16(in, Wide{u(in, 0)} * u(in, 1) + u(in, 2)); }},
      {"v_mad_legacy_i16", K::kI16, {K::kI16, K::kI16, K::kI16}, [](I in) { return limited_i16(in, Wide{h(in, 0)} * h(in, 1) + h(in, 2)); }},
      {"v_mad_u32_u16", K::kI32, {K::kI16, K::kI16, K::kI32}, [](I in) { return limited_u32(in, Wide{u(in, 0)} * u(in, 1) + u(in, 2)); }},
      {"v_mad_i32_i16", K::kI32, {K::kI16, K::kI16, K::kI32}, [](I in) { return limited_i32(in, Wide{h(in, 0)} * h(in, 1) + s(in, 2)); }},
      {"v_min_u32", K::kI32, {K::kI32, K::kI32}, [](I in) { return u(in, 0) < u(in, 1) ? w(in, 0) : w(in, 1); }, false, false, false},
      {"v_max_u32", K::kI32, {K::kI32, K::kI32}, [](I in) { return u(in, 0) > u(in, 1) ? w(in, 0) : w(in, 1); }, false, false, false},
      {"v_min_i32", K::kI32, {K::kI32, K::kI32}, [](I in) { return s(in, 0) < s(in, 1) ? w(in, 0) : w(in, 1); }, false, false, false},
      {"v_max_i32", K::kI32, {K::kI32, K::kI32}, [](I in) { return s(in, 0) > s(in, 1) ? w(in, 0) : w(in, 1); }, false, false, false},
      {"v_min_u16", K::kI16, {K::kI16, K::kI16}, [](I in) { return w(in, 0) < w(in, 1) ? w(in, 0) : w(in, 1); }, false, false, false},
      {"v_max_u16", K::kI16, {K::kI16, K::kI16}, [](I in) { return w(in, 0) > w(in, 1) ? w(in, 0) : w(in, 1); }, false, false, false},
      {"v_min_i16", K::kI16, {K::kI16, K::kI16}, [](I in) { return h(in, 0) < h(in, 1) ? w(in, 0) : w(in, 1); }, false, false, false},
      {"v_max_i16", K::kI16, {K::kI16, K::kI16}, [](I in) { return h(in, 0) > h(in, 1) ? w(in, 0) : w(in, 1); }, false, false, false},
      {"v_min3_u32", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return std::min({w(in, 0), w(in, 1), w(in, 2)}); }, false, false, false},
      {"v_max3_u32", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return std::max({w(in, 0), w(in, 1), w(in, 2)}); }, false, false, false},
      {"v_med3_u32", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return middle(u(in, 0), u(in, 1), u(in, 2)); }, false, false, false},
      {"v_min3_i32", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return static_cast<uint64_t>(std::min({s(in, 0), s(in, 1), s(in, 2)})); }, false, false, false},
      {"v_max3_i32", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return static_cast<uint64_t>(std::max({s(in, 0), s(in, 1), s(in, 2)})); }, false, false, false},
      {"v_med3_i32", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return middle(s(in, 0), s(in, 1), s(in, 2)); }, false, false, false},
      {"v_min3_u16", K::kI16, {K::kI16, K::kI16, K::kI16}, [](I in) { return std::min({w(in, 0), w(in, 1), w(in, 2)}); }, false, false, false},
      {"v_max3_u16", K::kI16, {K::kI16, K::kI16, K::kI16}, [](I in) { return std::max({w(in, 0), w(in, 1), w(in, 2)}); }, false, false, false},
      {"v_med3_u16", K::kI16, {K::kI16, K::kI16, K::kI16}, [](I in) { return middle(u(in, 0), u(in, 1), u(in, 2)); }, false, false, false},
      {"v_min3_i16", K::kI16, {K::kI16, K::kI16, K::kI16}, [](I in) { return static_cast<uint64_t>(std::min({h(in, 0), h(in, 1), h(in, 2)})); }, false, false, false},
      {"v_max3_i16", K::kI16, {K::kI16, K::kI16, K::kI16}, [](I in) { return static_cast<uint64_t>(std::max({h(in, 0), h(in, 1), h(in, 2)})); }, false, false, false},
      {"v_med3_i16", K::kI16, {K::kI16, K::kI16, K::kI16}, [](I in) { return middle(h(in, 0), h(in, 1), h(in, 2)); }, false, false, false},
      {"v_not_b32", K::kI32, {K::kI32}, [](I in) { return 0xffffffffu - w(in, 0); }, false, false, false},
      {"v_and_b32", K::kI32, {K::kI32, K::kI32}, [](I in) { return w(in, 0) & w(in, 1); }, false, false, false},
      {"v_or_b32", K::kI32, {K::kI32, K::kI32}, [](I in) { return w(in, 0) | w(in, 1); }, false, false, false},
      {"v_xor_b32", K::kI32, {K::kI32, K::kI32}, [](I in) { return w(in, 0) ^ w(in, 1); }, false, false, false},
      {"v_xnor_b32", K::kI32, {K::kI32, K::kI32}, [](I in) { return ~(w(in, 0) ^ w(in, 1)); }, false, false, false},
      {"v_and_or_b32", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return (w(in, 0) & w(in, 1)) | w(in, 2); }, false, false, false},
      {"v_or3_b32", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return w(in, 0) | w(in, 1) | w(in, 2); }, false, false, false},
      {"v_lshl_or_b32", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return w(in, 0) << w(in, 1) % 32 | w(in, 2); }, false, false, false},
      {"v_bfi_b32", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return w(in, 2) ^ (w(in, 0) & (w(in, 1) ^ w(in, 2))); }, false, false, false},
      {"v_bfe_u32", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return field(w(in, 0), u(in, 1) % 32, u(in, 2) % 32); }, false, false, false},
      {"v_bfe_i32", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return signed_field(s(in, 0), u(in, 1) % 32, u(in, 2) % 32); }, false, false, false},
      {"v_bfm_b32", K::kI32, {K::kI32, K::kI32}, [](I in) { return field(~uint64_t{0}, 0, u(in, 0) % 32) << u(in, 1) % 32; }, false, false, false},
      {"v_bfrev_b32", K::kI32, {K::kI32}, [](I in) { uint64_t r = 0; for (int i = 0; i < 32; ++i) r = r * 2 + (w(in, 0) >> i & 1); return r; }, false, false, false},
      {"v_bcnt_u32_b32", K::kI32, {K::kI32, K::kI32}, [](I in) { return count_bits(w(in, 0)) + w(in, 1); }, false, false, false},
      {"v_mbcnt_lo_u32_b32", K::kI32, {K::kI32, K::kI32}, [](I in) {
         uint64_t count = w(in, 1);
         for (int lane = 0; lane < in.lane && lane < 32; ++lane) count += w(in, 0) >> lane & 1;
         return count;
       }, false, false, false},
      {"v_mbcnt_hi_u32_b32", K::kI32, {K::kI32, K::kI32}, [](I in) {
         uint64_t count = w(in, 1);
         for (int lane = 32; lane < in.lane; ++lane) count += w(in, 0) >> (lane - 32) & 1;
         return count;
       }, false, false, false},
      {"v_ffbh_u32", K::kI32, {K::kI32}, [](I in) { return leading_zeros(u(in, 0)); }, false, false, false},
      {"v_ffbh_i32", K::kI32, {K::kI32}, [](I in) { return leading_zeros(s(in, 0) < 0 ? ~u(in, 0) : u(in, 0)); }, false, false, false},
      {"v_ffbl_b32", K::kI32, {K::kI32}, [](I in) -> uint64_t {
         for (uint64_t i = 0; i < 32; ++i) if (w(in, 0) >> i & 1) return i;
         return 0xffffffff;
       }, false, false, false},
      {"v_lshlrev_b32", K::kI32, {K::kI32, K::kI32}, [](I in) { return w(in, 1) << w(in, 0) % 32; }, false, false, false},
      {"v_lshrrev_b32", K::kI32, {K::kI32, K::kI32}, [](I in) { return w(in, 1) >> w(in, 0) % 32; }, false, false, false},
      {"v_ashrrev_i32", K::kI32, {K::kI32, K::kI32}, [](I in) { return static_cast<uint64_t>(int64_t{s(in, 1)} >> w(in, 0) % 32); }, false, false, false},
      {"v_lshlrev_b16", K::kI16, {K::kI16, K::kI16}, [](I in) { return w(in, 1) << w(in, 0) % 16; }, false, false, false},
      {"v_lshrrev_b16", K::kI16, {K::kI16, K::kI16}, [](I in) { return w(in, 1) >> w(in, 0) % 16; }, false, false, false},
      {"v_ashrrev_i16", K::kI16, {K::kI16, K::kI16}, [](I in) { return static_cast<uint64_t>(h(in, 1) >> w(in, 0) % 16); }, false, false, false},
      {"v_lshlrev_b64", K::kI64, {K::kI32, K::kI64}, [](I in) { return w(in, 1) << w(in, 0) % 64; }, false, false, false},
      {"v_lshrrev_b64", K::kI64, {K::kI32, K::kI64}, [](I in) { return w(in, 1) >> w(in, 0) % 64; }, false, false, false},
      {"v_ashrrev_i64", K::kI64, {K::kI32, K::kI64}, [](I in) { return static_cast<uint64_t>(Wide{static_cast<int64_t>(w(in, 1))} >> w(in, 0) % 64); }, false, false, false},
      {"v_ashr_pk_i8_i32", K::kI16, {K::kI32, K::kI32, K::kI32}, [](I in) { return bytes_of(in, -128, 127); }, false, false, false},
      {"v_ashr_pk_u8_i32", K::kI16, {K::kI32, K::kI32, K::kI32}, [](I in) { return bytes_of(in, 0, 255); }, false, false, false},
      {"v_qsad_pk_u16_u8", K::kI64, {K::kI64, K::kI32, K::kI64}, [](I in) { return windows(in, false); }},
      {"v_mqsad_pk_u16_u8", K::kI64, {K::kI64, K::kI32, K::kI64}, [](I in) { return windows(in, true); }},
      {"v_alignbit_b32", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return (w(in, 0) << 32 | w(in, 1)) >> w(in, 2) % 32; }, false, false, false},
      {"v_alignbyte_b32", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return (w(in, 0) << 32 | w(in, 1)) >> w(in, 2) % 4 * 8; }, false, false, false},
      {"v_perm_b32", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return permuted(u(in, 0), u(in, 1), u(in, 2)); }, false, false, false},
      {"v_prng_b32", K::kI32, {K::kI32}, [](I in) { return w(in, 0) * 2 ^ (s(in, 0) < 0 ? 0xc5 : 0); }, false, false, false},
      {"v_sad_u8", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return byte_distances(u(in, 0), u(in, 1), false) + w(in, 2); }, false, false, false},
      {"v_sad_hi_u8", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return byte_distances(u(in, 0), u(in, 1), false) * 65536 + w(in, 2); }, false, false, false},
      {"v_sad_u16", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) {
         const int low = std::abs(int(w(in, 0) & 0xffff) - int(w(in, 1) & 0xffff)), high = std::abs(int(w(in, 0) >> 16) - int(w(in, 1) >> 16));
         return static_cast<uint64_t>(low + high) + w(in, 2);
       }, false, false, false},
      {"v_sad_u32", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return static_cast<uint64_t>(std::abs(int64_t{u(in, 0)} - int64_t{u(in, 1)})) + w(in, 2); }, false, false, false},
      {"v_msad_u8", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return byte_distances(u(in, 0), u(in, 1), true) + w(in, 2); }, false, false, false},
      {"v_lerp_u8", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) {
         uint64_t result = 0;
         for (int i = 0; i < 4; ++i) result |= uint64_t{(byte_at(w(in, 0), i) + byte_at(w(in, 1), i) + byte_at(w(in, 2), i) % 2) / 2} << (8 * i);
         return result;
       }, false, false, false},
      {"v_dot4_i32_i8", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return limited_i32(in, dot<8>(u(in, 0), u(in, 1), true) + s(in, 2)); }},
      {"v_dot4_u32_u8", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return limited_u32(in, dot<8>(u(in, 0), u(in, 1), false) + u(in, 2)); }},
      {"v_dot8_i32_i4", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return limited_i32(in, dot<4>(u(in, 0), u(in, 1), true) + s(in, 2)); }},
      {"v_dot8_u32_u4", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return limited_u32(in, dot<4>(u(in, 0), u(in, 1), false) + u(in, 2)); }},
      {"v_dot2_i32_i16", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return limited_i32(in, dot<16>(u(in, 0), u(in, 1), true) + s(in, 2)); }},
      {"v_dot2_u32_u16", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return limited_u32(in, dot<16>(u(in, 0), u(in, 1), false) + u(in, 2)); }},
      {"v_dot2c_i32_i16", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return static_cast<uint64_t>(dot<16>(u(in, 0), u(in, 1), true) + s(in, 2)); }, false, true, false},
      {"v_dot4c_i32_i8", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return static_cast<uint64_t>(dot<8>(u(in, 0), u(in, 1), true) + s(in, 2)); }, false, true, false},
      {"v_dot8c_i32_i4", K::kI32, {K::kI32, K::kI32, K::kI32}, [](I in) { return static_cast<uint64_t>(dot<4>(u(in, 0), u(in, 1), true) + s(in, 2)); }, false, true, false},
      {"v_sat_pk_u8_i16", K::kI32, {K::kI32}, [](I in) {
         const auto top = [](int64_t x) { return static_cast<uint64_t>(std::clamp<int64_t>(x, 0, 255)); };
         return top(static_cast<int16_t>(w(in, 0))) | top(static_cast<int16_t>(w(in, 0) >> 16)) << 8;
       }, false, false, false},
      {"v_cvt_pk_u16_u32", K::kI32, {K::kI32, K::kI32}, [](I in) { return std::min<uint64_t>(w(in, 0), 65535) | std::min<uint64_t>(w(in, 1), 65535) << 16; }, false, false, false},
      {"v_cvt_pk_i16_i32", K::kI32, {K::kI32, K::kI32}, [](I in) {
         const auto top = [](int32_t x) { return static_cast<uint64_t>(std::clamp(x, -32768, 32767)) & 0xffff; };
         return top(s(in, 0)) | top(s(in, 1)) << 16;
       }, false, false, false},
  };
  return kRows;
}

const Tests kTested(rows());

class VectorInteger : public ::testing::TestWithParam<VectorRow> {};
TEST_P(VectorInteger, AgreesWithPlainIntegers) { check_row(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Rows, VectorInteger, ::testing::ValuesIn(rows()),
                         [](const auto& row) { return row.param.mnemonic; });

const Tests kWideSums{"v_mqsad_u32_u8"};
TEST(WideSums, AddEachWindowToARegisterOfItsOwn) {
  std::mt19937_64 random(31);
  for (bool clamp : {false, true}) {
    for (uint64_t exec : {~uint64_t{0}, uint64_t{0x9c3f0ff0a5a50001}}) {
      SingleWave wave;
      for (unsigned r = 0; r < 16; ++r) {
        for (int lane = 0; lane < kLanes; ++lane) {
          wave.v(r, lane) = static_cast<uint32_t>(random());
          if (r == 2 && lane % 2) wave.v(r, lane) &= 0xff00ff00;
          if (r >= 4 && r < 8 && lane % 3 == 0) wave.v(r, lane) |= 0xffffff00;  // sums that wrap
        }
      }
      uint32_t old[4][kLanes];
      for (unsigned r = 0; r < 4; ++r)
        for (int lane = 0; lane < kLanes; ++lane) old[r][lane] = wave.v(8 + r, lane);
      wave.set_exec(exec);
      wave.run(std::string("v_mqsad_u32_u8 v[8:11], v[0:1], v2, v[4:7]") + (clamp ? " clamp" : ""));
      for (int lane = 0; lane < kLanes; ++lane) {
        for (unsigned i = 0; i < 4; ++i) {
          const auto window = static_cast<uint32_t>(wave.v64(0, lane) >> (8 * i));
          const uint64_t sum = byte_distances(window, wave.v(2, lane), true) + wave.v(4 + i, lane);
          const uint64_t want = clamp ? std::min<uint64_t>(sum, 0xffffffff) : sum & 0xffffffff;
          ASSERT_EQ(wave.v(8 + i, lane), exec >> lane & 1 ? want : old[i][lane]) << lane << " " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace mhcheck::simulator::testing
