#include <gtest/gtest.h>

#include <algorithm>

#include "tests/simulator/exact_real.h"
#include "tests/simulator/tested_mnemonics.h"
#include "tests/simulator/vector_row.h"

namespace mhcheck::simulator::testing {
namespace {

using I = const Inputs&;

// ---- Exact arithmetic, rounded once

Real real(Kind kind, I in, size_t k) { return decode(format_of(kind), in.value[k]); }

// The sign of an exactly zero sum depends on the rounding direction; MPFR needs it when it computes, not
// afterwards.
mpfr_rnd_t mpfr_mode(Direction direction) {
  constexpr mpfr_rnd_t kModes[] = {MPFR_RNDN, MPFR_RNDU, MPFR_RNDD, MPFR_RNDZ};
  return kModes[static_cast<int>(direction)];
}

template <class Compute>
std::function<uint64_t(I)> arithmetic(Kind kind, Compute compute) {
  return [kind, compute](I in) {
    Real result;
    compute(result.get(), in, mpfr_mode(in.direction));
    return encode(format_of(kind), result, in.direction);
  };
}
std::function<uint64_t(I)> sum(Kind kind, int sign_a, int sign_b) {
  return arithmetic(kind, [=](mpfr_ptr r, I in, mpfr_rnd_t mode) {
    Real a = real(kind, in, 0), b = real(kind, in, 1);
    if (sign_a < 0) mpfr_neg(a.get(), a.get(), mode);
    if (sign_b < 0) mpfr_neg(b.get(), b.get(), mode);
    mpfr_add(r, a.get(), b.get(), mode);
  });
}
std::function<uint64_t(I)> product(Kind kind, bool legacy = false) {
  return arithmetic(kind, [=](mpfr_ptr r, I in, mpfr_rnd_t mode) {
    const Real a = real(kind, in, 0), b = real(kind, in, 1);
    if (legacy && (mpfr_zero_p(a.get()) || mpfr_zero_p(b.get()))) {
      mpfr_set_zero(r, 1);
    } else {
      mpfr_mul(r, a.get(), b.get(), mode);
    }
  });
}
std::function<uint64_t(I)> fused(Kind kind) {
  return arithmetic(kind, [=](mpfr_ptr r, I in, mpfr_rnd_t mode) {
    mpfr_fma(r, real(kind, in, 0).get(), real(kind, in, 1).get(), real(kind, in, 2).get(), mode);
  });
}
// ---- Cube maps: which face, and for each face the coordinates that lie on it, with their signs

struct Face {
  size_t s, t;
  bool negative_s, negative_t;
};
constexpr Face kFaces[] = {{2, 1, true, true},  {2, 1, false, true}, {0, 2, false, false},
                           {0, 2, false, true}, {0, 1, false, true}, {0, 1, true, true}};
size_t face_of(I in) {
  Real size[3];
  for (size_t k = 0; k < 3; ++k) {
    size[k] = real(Kind::kF32, in, k);
    mpfr_abs(size[k].get(), size[k].get(), MPFR_RNDN);
  }
  const auto reaches = [&](size_t a, size_t b) {
    return mpfr_greaterequal_p(size[a].get(), size[b].get()) != 0;
  };
  const size_t axis = reaches(2, 0) && reaches(2, 1) ? 2 : reaches(1, 0) ? 1 : 0;
  return 2 * axis + (mpfr_sgn(real(Kind::kF32, in, axis).get()) < 0 ? 1 : 0);
}
uint64_t signed_operand(I in, size_t k, bool negative) {
  return in.value[k] ^ (negative ? kSingle.sign() : 0);
}

// The product is rounded first; denormal operands and results of both steps are zeros of their sign.
std::function<uint64_t(I)> unfused(Kind kind) {
  return [kind](I in) {
    const Format format = format_of(kind);
    const auto flushed = [&](uint64_t x) {
      const uint64_t sign = uint64_t{1} << (format.bits() - 1), least = uint64_t{1} << format.mantissa_bits;
      return (x & (sign - 1)) < least ? x & sign : x;
    };
    const auto operand = [&](size_t k) { return decode(format, flushed(in.value[k])); };
    Real product, sum;
    mpfr_mul(product.get(), operand(0).get(), operand(1).get(), mpfr_mode(in.direction));
    const Real rounded = decode(format, flushed(encode(format, product, in.direction)));
    mpfr_add(sum.get(), rounded.get(), operand(2).get(), mpfr_mode(in.direction));
    return flushed(encode(format, sum, in.direction));
  };
}
// 53 bits of 2/pi behind the first `shift`, as MPFR has them.
std::function<uint64_t(I)> two_over_pi() {
  return [](I in) -> uint64_t {
    const Format format = format_of(Kind::kF64);
    if (format.is_nan(in.value[0])) return format.nan();
    const long exponent = static_cast<long>(in.value[0] >> 52 & 0x7ff);
    const long shift = static_cast<long>(in.value[1] & 31) * 53 + std::max(0L, exponent - 1077);
    if (shift / 32 + 2 >= 38) return 0;
    Real quotient(4000);
    mpfr_const_pi(quotient.get(), MPFR_RNDN);
    mpfr_ui_div(quotient.get(), 2, quotient.get(), MPFR_RNDN);
    mpfr_mul_2si(quotient.get(), quotient.get(), shift, MPFR_RNDN);
    mpfr_frac(quotient.get(), quotient.get(), MPFR_RNDN);
    mpfr_mul_2si(quotient.get(), quotient.get(), 53, MPFR_RNDN);
    mpfr_trunc(quotient.get(), quotient.get());
    mpfr_mul_2si(quotient.get(), quotient.get(), -53 - shift + (exponent >= 1968 ? 128 : 0), MPFR_RNDN);
    return encode(format, quotient);
  };
}
std::function<uint64_t(I)> whole(Kind kind, int (*round)(mpfr_ptr, mpfr_srcptr)) {
  return arithmetic(kind, [=](mpfr_ptr r, I in, mpfr_rnd_t) { round(r, real(kind, in, 0).get()); });
}
int half_even(mpfr_ptr r, mpfr_srcptr x) { return mpfr_roundeven(r, x); }
std::function<uint64_t(I)> fraction(Kind kind) {
  return [kind](I in) {
    const Format format = format_of(kind);
    if (format.is_infinite(in.value[0]) || format.is_nan(in.value[0])) return format.nan();
    Real x = real(kind, in, 0), r;
    mpfr_floor(r.get(), x.get());
    mpfr_sub(r.get(), x.get(), r.get(), mpfr_mode(in.direction));
    // The smallest negative numbers are a whole step below one, which would round up to it.
    const uint64_t one = static_cast<uint64_t>(format.bias()) << format.mantissa_bits;
    const uint64_t result = encode(format, r, in.direction);
    return mpfr_zero_p(r.get()) ? result : std::min(result, one - 1);
  };
}
std::function<uint64_t(I)> scaled(Kind kind, int exponent_bits) {
  return arithmetic(kind, [=](mpfr_ptr r, I in, mpfr_rnd_t mode) {
    const int64_t power = exponent_bits == 16 ? int64_t{static_cast<int16_t>(in.value[1])}
                                              : int64_t{static_cast<int32_t>(in.value[1])};
    mpfr_mul_2si(r, real(kind, in, 0).get(), std::clamp<int64_t>(power, -100000, 100000), mode);
  });
}
std::function<uint64_t(I)> exponent(Kind kind) {
  return [kind](I in) -> uint64_t {
    const Real x = decode(format_of(kind), in.value[0]);
    return mpfr_regular_p(x.get()) ? static_cast<uint64_t>(mpfr_get_exp(x.get())) : 0;
  };
}
std::function<uint64_t(I)> significand(Kind kind) {
  return [kind](I in) {
    Real x = decode(format_of(kind), in.value[0]);
    if (mpfr_regular_p(x.get())) mpfr_set_exp(x.get(), 0);
    return encode(format_of(kind), x);
  };
}

// ---- Minimum and maximum by comparison of exact values

bool signalling(Format f, uint64_t x) { return f.is_nan(x) && !(x & f.quiet()); }

uint64_t pick(Format f, bool greatest, uint64_t a, uint64_t b) {
  if (signalling(f, a) || signalling(f, b)) return f.nan();
  if (f.is_nan(a)) return b;
  if (f.is_nan(b)) return a;
  const Real x = decode(f, a), y = decode(f, b);
  const int order = mpfr_cmp(x.get(), y.get());
  if (order == 0) return greatest ? (a & b) : (a | b);  // equal but for the sign of zero
  return (order > 0) == greatest ? a : b;
}
std::function<uint64_t(I)> extreme(Kind kind, bool greatest, bool three = false) {
  return [=](I in) {
    const Format f = format_of(kind);
    const size_t count = three ? 3 : 2;
    uint64_t best = in.value[0];
    for (size_t k = 1; k < count; ++k) best = pick(f, greatest, best, in.value[k]);
    return best;
  };
}
std::function<uint64_t(I)> median(Kind kind) {
  return [=](I in) {
    const Format f = format_of(kind);
    std::vector<uint64_t> v(in.value.begin(), in.value.end());
    if (f.is_nan(v[0]) || f.is_nan(v[1]) || f.is_nan(v[2])) return extreme(kind, false, true)(in);
    std::sort(v.begin(), v.end(),
              [&](uint64_t a, uint64_t b) { return a != b && pick(f, false, a, b) == a; });
    return v[1];
  };
}
std::function<uint64_t(I)> propagating(Kind kind, bool greatest) {
  return [=](I in) {
    for (uint64_t x : in.value)
      if (format_of(kind).is_nan(x)) return format_of(kind).nan();
    return extreme(kind, greatest, true)(in);
  };
}

// ---- Division's last step, from its table of cases

std::function<uint64_t(I)> quotient_fixup(Kind kind) {
  return [=](I in) {
    const Format f = format_of(kind);
    const uint64_t q = in.value[0], den = in.value[1], num = in.value[2];
    const uint64_t sign = (den ^ num) & f.sign();
    const auto zero = [&](uint64_t x) { return (x & ~f.sign()) == 0; };
    if (f.is_nan(num) || f.is_nan(den)) return f.nan();
    if ((zero(num) && zero(den)) || (f.is_infinite(num) && f.is_infinite(den))) return f.nan();
    if (zero(den) || f.is_infinite(num)) return sign | f.infinity();
    if (zero(num) || f.is_infinite(den)) return sign;
    const auto field = [&](uint64_t x) { return static_cast<int>((x & f.infinity()) >> f.mantissa_bits); };
    if (kind != Kind::kF16 && field(num) - field(den) < -(f.bias() + f.mantissa_bits)) return sign;
    return f.is_nan(q) ? sign | f.infinity() : sign | (q & ~f.sign());
  };
}

// ---- Elementary functions

uint64_t no_denormal(uint64_t x) { return kSingle.is_denormal(x) ? x & kSingle.sign() : x; }

template <class Compute>
std::function<uint64_t(I)> elementary(Kind kind, Compute compute) {
  return [=](I in) {
    const uint64_t x = kind == Kind::kF32 ? no_denormal(in.value[0]) : in.value[0];
    const uint64_t y = evaluate(format_of(kind), x, compute);
    return kind == Kind::kF32 ? no_denormal(y) : y;
  };
}
void reciprocal(mpfr_ptr r, mpfr_srcptr x) { mpfr_ui_div(r, 1, x, MPFR_RNDN); }
void reciprocal_root(mpfr_ptr r, mpfr_srcptr x) {
  // 1/sqrt(-0) is -infinity here, as IEEE has it; MPFR says +infinity.
  if (mpfr_zero_p(x) && mpfr_signbit(x))
    mpfr_set_inf(r, -1);
  else
    mpfr_rec_sqrt(r, x, MPFR_RNDN);
}
void root(mpfr_ptr r, mpfr_srcptr x) { mpfr_sqrt(r, x, MPFR_RNDN); }
void power(mpfr_ptr r, mpfr_srcptr x) { mpfr_exp2(r, x, MPFR_RNDN); }
void logarithm(mpfr_ptr r, mpfr_srcptr x) { mpfr_log2(r, x, MPFR_RNDN); }
// mpfr_sinu takes the turns of a full circle.
void sine(mpfr_ptr r, mpfr_srcptr x) { mpfr_sinu(r, x, 1, MPFR_RNDN); }
void cosine(mpfr_ptr r, mpfr_srcptr x) {
  mpfr_cosu(r, x, 1, MPFR_RNDN);
  if (mpfr_zero_p(r)) mpfr_abs(r, r, MPFR_RNDN);
}

const std::vector<VectorRow>& rows() {
  static const std::vector<VectorRow> kRows = [] {
    std::vector<VectorRow> rows;
    const auto rounded = [&](const char* name, Kind kind, size_t sources, std::function<uint64_t(I)> expected,
                             bool accumulates = false) {
      rows.push_back({name, kind, std::vector<Kind>(sources, kind), std::move(expected), true, accumulates});
    };
    const auto exact = [&](const char* name, Kind result, std::vector<Kind> sources,
                           std::function<uint64_t(I)> expected) {
      rows.push_back({name, result, std::move(sources), std::move(expected), false, false, is_float(result)});
    };
    using K = Kind;
    rounded("v_add_f32", K::kF32, 2, sum(K::kF32, 1, 1));
    rounded("v_sub_f32", K::kF32, 2, sum(K::kF32, 1, -1));
    rounded("v_subrev_f32", K::kF32, 2, sum(K::kF32, -1, 1));
    rounded("v_mul_f32", K::kF32, 2, product(K::kF32));
    rounded("v_mul_legacy_f32", K::kF32, 2, product(K::kF32, true));
    rounded("v_cubeid_f32", K::kF32, 3, [](I in) {
      Real face(8);
      mpfr_set_ui(face.get(), face_of(in), MPFR_RNDN);
      return encode(kSingle, face);
    });
    rounded("v_cubesc_f32", K::kF32, 3, [](I in) {
      const Face& face = kFaces[face_of(in)];
      return signed_operand(in, face.s, face.negative_s);
    });
    rounded("v_cubetc_f32", K::kF32, 3, [](I in) {
      const Face& face = kFaces[face_of(in)];
      return signed_operand(in, face.t, face.negative_t);
    });
    rounded("v_cubema_f32", K::kF32, 3, arithmetic(K::kF32, [](mpfr_ptr r, I in, mpfr_rnd_t mode) {
              mpfr_mul_ui(r, real(K::kF32, in, face_of(in) / 2).get(), 2, mode);
            }));
    rounded("v_fma_f32", K::kF32, 3, fused(K::kF32));
    rounded("v_fmac_f32", K::kF32, 3, fused(K::kF32), true);
    rounded("v_add_f16", K::kF16, 2, sum(K::kF16, 1, 1));
    rounded("v_sub_f16", K::kF16, 2, sum(K::kF16, 1, -1));
    rounded("v_subrev_f16", K::kF16, 2, sum(K::kF16, -1, 1));
    rounded("v_mul_f16", K::kF16, 2, product(K::kF16));
    rounded("v_fma_f16", K::kF16, 3, fused(K::kF16));
    rounded("v_fma_legacy_f16", K::kF16, 3, fused(K::kF16));
    rounded("v_mad_f16", K::kF16, 3, unfused(K::kF16));
    rounded("v_mad_legacy_f16", K::kF16, 3, unfused(K::kF16));
    rounded("v_mac_f16", K::kF16, 3, unfused(K::kF16), true);
    exact("v_trig_preop_f64", K::kF64, {K::kF64, K::kI32}, two_over_pi());
    rounded("v_add_f64", K::kF64, 2, sum(K::kF64, 1, 1));
    rounded("v_mul_f64", K::kF64, 2, product(K::kF64));
    rounded("v_fma_f64", K::kF64, 3, fused(K::kF64));
    rounded("v_fmac_f64", K::kF64, 3, fused(K::kF64), true);
    const struct {
      const char* suffix;
      Kind kind;
    } formats[] = {{"f16", K::kF16}, {"f32", K::kF32}, {"f64", K::kF64}};
    for (const auto& [suffix, kind] : formats) {
      const auto named = [&, s = suffix](const char* stem) { return std::string(stem) + s; };
      rounded(named("v_floor_").c_str(), kind, 1, whole(kind, mpfr_floor));
      rounded(named("v_ceil_").c_str(), kind, 1, whole(kind, mpfr_ceil));
      rounded(named("v_trunc_").c_str(), kind, 1, whole(kind, mpfr_trunc));
      rounded(named("v_rndne_").c_str(), kind, 1, whole(kind, half_even));
      rounded(named("v_fract_").c_str(), kind, 1, fraction(kind));
      exact(named("v_min_").c_str(), kind, {kind, kind}, extreme(kind, false));
      exact(named("v_max_").c_str(), kind, {kind, kind}, extreme(kind, true));
      exact(named("v_div_fixup_").c_str(), kind, {kind, kind, kind}, quotient_fixup(kind));
      exact(named("v_frexp_mant_").c_str(), kind, {kind}, significand(kind));
      exact(named("v_rcp_").c_str(), kind, {kind}, elementary(kind, reciprocal));
      exact(named("v_rsq_").c_str(), kind, {kind}, elementary(kind, reciprocal_root));
      exact(named("v_sqrt_").c_str(), kind, {kind}, elementary(kind, root));
      if (kind == K::kF64) continue;
      exact(named("v_min3_").c_str(), kind, {kind, kind, kind}, extreme(kind, false, true));
      exact(named("v_max3_").c_str(), kind, {kind, kind, kind}, extreme(kind, true, true));
      exact(named("v_med3_").c_str(), kind, {kind, kind, kind}, median(kind));
      exact(named("v_exp_").c_str(), kind, {kind}, elementary(kind, power));
      exact(named("v_log_").c_str(), kind, {kind}, elementary(kind, logarithm));
      exact(named("v_sin_").c_str(), kind, {kind}, elementary(kind, sine));
      exact(named("v_cos_").c_str(), kind, {kind}, elementary(kind, cosine));
    }
    exact("v_rcp_iflag_f32", K::kF32, {K::kF32}, elementary(K::kF32, reciprocal));
    exact("v_exp_legacy_f32", K::kF32, {K::kF32}, elementary(K::kF32, power));
    exact("v_log_legacy_f32", K::kF32, {K::kF32}, elementary(K::kF32, logarithm));
    exact("v_div_fixup_legacy_f16", K::kF16, {K::kF16, K::kF16, K::kF16}, quotient_fixup(K::kF16));
    exact("v_minimum3_f32", K::kF32, {K::kF32, K::kF32, K::kF32}, propagating(K::kF32, false));
    exact("v_maximum3_f32", K::kF32, {K::kF32, K::kF32, K::kF32}, propagating(K::kF32, true));
    exact("v_frexp_exp_i32_f32", K::kI32, {K::kF32}, exponent(K::kF32));
    exact("v_frexp_exp_i32_f64", K::kI32, {K::kF64}, exponent(K::kF64));
    exact("v_frexp_exp_i16_f16", K::kI16, {K::kF16}, exponent(K::kF16));
    rows.push_back({"v_ldexp_f32", K::kF32, {K::kF32, K::kI32}, scaled(K::kF32, 32), true});
    rows.push_back({"v_ldexp_f64", K::kF64, {K::kF64, K::kI32}, scaled(K::kF64, 32), true});
    rows.push_back({"v_ldexp_f16", K::kF16, {K::kF16, K::kI16}, scaled(K::kF16, 16), true});
    return rows;
  }();
  return kRows;
}

const Tests kTested(rows());

class VectorFloat : public ::testing::TestWithParam<VectorRow> {};
TEST_P(VectorFloat, AgreesWithMpfr) { check_row(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Rows, VectorFloat, ::testing::ValuesIn(rows()),
                         [](const auto& row) { return row.param.mnemonic; });

}  // namespace
}  // namespace mhcheck::simulator::testing
