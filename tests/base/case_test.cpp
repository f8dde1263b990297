#include "reference/base/case.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <ostream>

namespace mhcheck {

// For GoogleTest's and RapidCheck's messages.
void showValue(const Case& c, std::ostream& os) { os << to_canonical_descriptor(c); }
void PrintTo(const Case& c, std::ostream* os) { *os << to_canonical_descriptor(c); }

namespace {

std::string error_of(std::string_view text) {
  try {
    parse_descriptor(text);
  } catch (const DescriptorError& error) {
    return error.what();
  }
  return "no error";
}

// ---- Well-formed texts ---------------------------------------------------------------------------------

TEST(Descriptor, OfTheDocumentationSetsEveryFieldItNames) {
  Case expected;
  expected.problem.op = Op::mhc_pre;
  expected.problem.dtype = Dtype::bf16;
  expected.problem.num_tokens = 33;
  expected.problem.hc_mult = 4;
  expected.problem.hidden_size = 4096;
  expected.problem.split_k = 7;
  expected.problem.norm_weight = Dtype::bf16;
  expected.problem.parameters.sinkhorn_repeat = 20;
  expected.problem.parameters.hc_post_mult_value = 2;
  expected.regime = "massive";
  expected.seed = 42;
  EXPECT_EQ(parse_descriptor("mhc_pre:bf16:t33:n4:h4096:sk7:norm=bf16:repeat=20:mult=2:in=massive:seed=42"),
            expected);
  EXPECT_EQ(to_descriptor(expected), "mhc_pre:bf16:t33:n4:h4096:sk7:norm=bf16:in=massive:seed=42");
}

TEST(Descriptor, WithEveryKeyGivesEveryField) {
  Case expected;
  expected.problem.op = Op::mhc_fused_post_pre;
  expected.problem.dtype = Dtype::fp16;
  expected.problem.num_tokens = 0;
  expected.problem.hc_mult = 8;
  expected.problem.hidden_size = 1;
  expected.problem.split_k = 3;
  expected.problem.norm_weight = Dtype::fp32;
  expected.problem.parameters = {.rms_eps = 1e-20f,
                                 .hc_pre_eps = 0.0f,
                                 .hc_sinkhorn_eps = 0.5f,
                                 .norm_eps = 1e-5f,
                                 .hc_post_mult_value = -1.25f,
                                 .sinkhorn_repeat = 0};
  expected.profile = {.collapse = CollapseRounding::fp32_sumsq,
                      .next_residual = NextResidual::unrounded,
                      .projection = ProjectionPrecision::bf16x2};
  expected.regime = "heavy_tail";
  expected.seed = 18446744073709551615u;
  const std::string text =
      "mhc_fused_post_pre:fp16:t0:n8:h1:sk3:norm=fp32:repeat=0:mult=-1.25:rms_eps=1e-20:hc_pre_eps=0:"
      "hc_sinkhorn_eps=0.5:norm_eps=1e-5:collapse=fp32_sumsq:next=unrounded:proj=bf16x2:in=heavy_tail:"
      "seed=18446744073709551615";
  EXPECT_EQ(parse_descriptor(text), expected);
  EXPECT_EQ(to_descriptor(expected), text);
  EXPECT_EQ(to_canonical_descriptor(expected), text);
}

TEST(Descriptor, ShortestIsTheFiveFieldsWhenAllIsDefault) {
  const Case c = parse_descriptor("sinkhorn:bf16:t1:n4:h512");
  Case expected;
  expected.problem.op = Op::sinkhorn;
  EXPECT_EQ(c, expected);
  EXPECT_EQ(to_descriptor(c), "sinkhorn:bf16:t1:n4:h512");
}

TEST(Descriptor, CanonicalWritesWhatTheCaseDependsOnAndNothingElse) {
  const auto canonical = [](std::string_view text) {
    return to_canonical_descriptor(parse_descriptor(text));
  };
  EXPECT_EQ(canonical("mhc_pre:bf16:t1:n4:h512"),
            "mhc_pre:bf16:t1:n4:h512:sk1:norm=none:repeat=20:mult=2:rms_eps=1e-6:hc_pre_eps=1e-6:"
            "hc_sinkhorn_eps=1e-6:proj=fp32:in=gauss:seed=1");
  EXPECT_EQ(canonical("mhc_pre_delayed:bf16:t1:n4:h512:norm=fp16"),
            "mhc_pre_delayed:bf16:t1:n4:h512:sk1:norm=fp16:entry=carried:repeat=20:mult=2:rms_eps=1e-6:"
            "hc_pre_eps=1e-6:hc_sinkhorn_eps=1e-6:norm_eps=1e-6:collapse=storage:proj=fp32:in=gauss:seed=1");
  EXPECT_EQ(canonical("mhc_fused_post_pre_gemm_sqrsum:bf16:t1:n4:h512"),
            "mhc_fused_post_pre_gemm_sqrsum:bf16:t1:n4:h512:sk1:next=rounded:proj=fp32:in=gauss:seed=1");
  EXPECT_EQ(canonical("mhc_pre_big_fuse:bf16:t1:n4:h512"),
            "mhc_pre_big_fuse:bf16:t1:n4:h512:sk1:norm=none:repeat=20:mult=2:rms_eps=1e-6:hc_pre_eps=1e-6:"
            "hc_sinkhorn_eps=1e-6:in=gauss:seed=1");
  EXPECT_EQ(canonical("hc_head:bf16:t1:n4:h512"),
            "hc_head:bf16:t1:n4:h512:sk1:rms_eps=1e-6:hc_pre_eps=1e-6:proj=fp32:in=gauss:seed=1");
  EXPECT_EQ(canonical("mhc_post:bf16:t1:n4:h512"), "mhc_post:bf16:t1:n4:h512:in=gauss:seed=1");
  EXPECT_EQ(canonical("rmsnorm:bf16:t1:n4:h512:norm=bf16"),
            "rmsnorm:bf16:t1:n4:h512:norm=bf16:norm_eps=1e-6:in=gauss:seed=1");
  EXPECT_EQ(canonical("sinkhorn:bf16:t1:n4:h512"),
            "sinkhorn:bf16:t1:n4:h512:repeat=20:hc_sinkhorn_eps=1e-6:in=gauss:seed=1");
}

TEST(Descriptor, KeysStandInAnyOrder) {
  EXPECT_EQ(parse_descriptor("mhc_pre:bf16:t3:n2:h8:seed=5:collapse=fp32:norm_eps=0:in=tiny:norm=fp16:sk2"),
            parse_descriptor("mhc_pre:bf16:t3:n2:h8:sk2:norm=fp16:norm_eps=0:collapse=fp32:in=tiny:seed=5"));
}

TEST(Descriptor, WritesNothingThatTheCaseDoesNotDependOn) {
  Case c;
  c.problem.op = Op::mhc_post;
  c.problem.parameters.rms_eps = 0.5f;
  c.problem.split_k = 9;
  c.profile.projection = ProjectionPrecision::tf32;
  EXPECT_EQ(to_descriptor(c), "mhc_post:bf16:t1:n4:h512");
  EXPECT_EQ(to_canonical_descriptor(c), "mhc_post:bf16:t1:n4:h512:in=gauss:seed=1");
}

// ---- Real numbers --------------------------------------------------------------------------------------

float mult_of(std::string_view number) {
  return parse_descriptor("mhc_pre:bf16:t1:n4:h512:mult=" + std::string(number))
      .problem.parameters.hc_post_mult_value;
}

std::string text_of(float mult) {
  Case c;
  c.problem.parameters.hc_post_mult_value = mult;
  constexpr std::string_view kBefore = "mult=";
  const std::string text = to_canonical_descriptor(c);
  const std::size_t start = text.find(kBefore) + kBefore.size();
  return text.substr(start, text.find(':', start) - start);
}

TEST(DescriptorNumber, IsTheNearestFp32) {
  EXPECT_EQ(mult_of("1e-6"), 1e-6f);
  EXPECT_EQ(mult_of("0.1"), 0.1f);
  EXPECT_EQ(mult_of("16777217"), 16777216.0f) << "a tie goes to the even neighbour";
  EXPECT_EQ(mult_of("16777219"), 16777220.0f) << "a tie goes to the even neighbour";
  // Above the midpoint of 1 and its successor by less than a double can hold: rounding through double is
  // wrong.
  EXPECT_EQ(mult_of("1.00000005960464477539062500000001"), std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(mult_of("1.000000059604644775390625"), 1.0f);
  EXPECT_EQ(mult_of("1e-45"), 0x1p-149f);
  EXPECT_EQ(mult_of("7e-46"), 0.0f) << "below half of the smallest subnormal";
  EXPECT_EQ(mult_of("1e-999999"), 0.0f);
  EXPECT_EQ(mult_of("3.4028235e38"), 0x1.fffffep127f);
  EXPECT_EQ(mult_of("1e+2"), 100.0f);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(mult_of("-0")), 0x80000000u);
}

TEST(DescriptorNumber, IsWrittenInTheShortestWayThatReadsBack) {
  EXPECT_EQ(text_of(1e-6f), "1e-6");
  EXPECT_EQ(text_of(1.5e-7f), "1.5e-7");
  EXPECT_EQ(text_of(1e-20f), "1e-20");
  EXPECT_EQ(text_of(1e20f), "1e20");
  EXPECT_EQ(text_of(100.0f), "100");
  EXPECT_EQ(text_of(1000.0f), "1e3");
  EXPECT_EQ(text_of(0.01f), "0.01");
  EXPECT_EQ(text_of(0.1f), "0.1");
  EXPECT_EQ(text_of(1.25f), "1.25");
  EXPECT_EQ(text_of(16777216.0f), "16777216");
  EXPECT_EQ(text_of(0x1p-149f), "1e-45");
  EXPECT_EQ(text_of(0x1.fffffep127f), "3.4028235e38");
  EXPECT_EQ(text_of(-0.0f), "-0");
}

RC_GTEST_PROP(DescriptorNumber, ReadsBackToTheSameFp32, ()) {
  const auto value = std::bit_cast<float>(*rc::gen::arbitrary<std::uint32_t>());
  RC_PRE(std::isfinite(value));
  RC_ASSERT(std::bit_cast<std::uint32_t>(mult_of(text_of(value))) == std::bit_cast<std::uint32_t>(value));
}

// ---- Round trip ----------------------------------------------------------------------------------------

float arbitrary_epsilon() {
  return *rc::gen::oneOf(rc::gen::element(0.0f, 1e-20f, 1e-6f, 1e-5f, 1.0f),
                         rc::gen::map(rc::gen::inRange<std::uint32_t>(0, 0x3f800001u),
                                      [](std::uint32_t bits) { return std::bit_cast<float>(bits); }));
}

// A legal case in which whatever the operator does not depend on has its default.
Case arbitrary_case() {
  Case c;
  Problem& p = c.problem;
  std::vector<Op> ops;
  for (const OperatorRow& row : all_operators()) ops.push_back(row.op);
  p.op = *rc::gen::elementOf(ops);
  const OperatorRow& row = row_of(p.op);
  p.dtype = *rc::gen::element(Dtype::bf16, Dtype::fp16);
  p.num_tokens = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 100),
                                 rc::gen::inRange<std::int64_t>(0, (std::int64_t{1} << 31) + 1));
  p.hc_mult = *rc::gen::inRange(1, kMaxHcMult + 1);
  p.hidden_size = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(1, 8192),
                                  rc::gen::inRange<std::int64_t>(1, (std::int64_t{1} << 31) + 1));
  if (row.splits || row.projection) p.split_k = *rc::gen::inRange(1, 4097);
  if (row.needs_norm || (row.fused_norm && *rc::gen::arbitrary<bool>())) {
    p.norm_weight = *rc::gen::element(Dtype::bf16, Dtype::fp16, Dtype::fp32);
  }
  if (row.entries) p.entry = *rc::gen::element(Entry::carried, Entry::entry, Entry::broadcast);
  Parameters& q = p.parameters;
  if (row.parameters & kRmsEps) q.rms_eps = arbitrary_epsilon();
  if (row.parameters & kHcPreEps) q.hc_pre_eps = arbitrary_epsilon();
  if (row.parameters & kHcSinkhornEps) q.hc_sinkhorn_eps = arbitrary_epsilon();
  if ((row.parameters & kNormEps) && p.norm_weight) q.norm_eps = arbitrary_epsilon();
  if (row.parameters & kHcPostMultValue) {
    q.hc_post_mult_value =
        *rc::gen::suchThat(rc::gen::map(rc::gen::arbitrary<std::uint32_t>(),
                                        [](std::uint32_t bits) { return std::bit_cast<float>(bits); }),
                           [](float value) { return std::isfinite(value); });
  }
  if (row.parameters & kSinkhornRepeat) q.sinkhorn_repeat = *rc::gen::inRange(1, 1001);
  if (p.norm_weight && !row.needs_norm) {
    c.profile.collapse =
        *rc::gen::element(CollapseRounding::storage, CollapseRounding::fp32_sumsq, CollapseRounding::fp32);
  }
  if (row.post_stage && row.projection) {
    c.profile.next_residual =
        *rc::gen::element(NextResidual::rounded, NextResidual::unrounded, NextResidual::fp32_sumsq);
  }
  if (row.projection) {
    c.profile.projection = *rc::gen::element(ProjectionPrecision::fp32, ProjectionPrecision::tf32,
                                             ProjectionPrecision::bf16x2, ProjectionPrecision::bf16x1);
  }
  c.regime = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::oneOf(
      rc::gen::inRange<char>('a', 'z' + 1), rc::gen::inRange<char>('0', '9' + 1), rc::gen::just('_'))));
  c.seed = *rc::gen::arbitrary<std::uint64_t>();
  return c;
}

RC_GTEST_PROP(Descriptor, EveryLegalCaseReadsBackFromItsShortestDescriptor, ()) {
  const Case c = arbitrary_case();
  RC_ASSERT(parse_descriptor(to_descriptor(c)) == c);
}

RC_GTEST_PROP(Descriptor, EveryLegalCaseReadsBackFromItsCanonicalDescriptor, ()) {
  const Case c = arbitrary_case();
  const std::string canonical = to_canonical_descriptor(c);
  RC_ASSERT(parse_descriptor(canonical) == c);
  RC_ASSERT(to_canonical_descriptor(parse_descriptor(to_descriptor(c))) == canonical);
}

// One character changed, dropped or doubled: it is a case or one line of error, nothing else.
RC_GTEST_PROP(Descriptor, DamagedTextIsACaseOrOneLineOfError, ()) {
  std::string text = to_canonical_descriptor(arbitrary_case());
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      text[at] = *rc::gen::arbitrary<char>();
      break;
    case 1:
      text.erase(at, 1);
      break;
    case 2:
      text.insert(at, 1, text[at]);
      break;
  }
  try {
    const Case c = parse_descriptor(text);
    RC_ASSERT(parse_descriptor(to_descriptor(c)) == c);
  } catch (const DescriptorError& error) {
    const std::string message = error.what();
    RC_ASSERT(message.starts_with("descriptor, character "));
    RC_ASSERT(message.find('\n') == std::string::npos);
    const auto position =
        std::strtoull(message.c_str() + std::string("descriptor, character ").size(), nullptr, 10);
    RC_ASSERT(position >= 1u);
    RC_ASSERT(position <= text.size() + 1);
  }
}

// ---- Malformed texts and their messages ----------------------------------------------------------------

struct Malformed {
  std::string_view text;
  std::string_view message;
};

constexpr std::string_view kOperatorNames =
    "mhc_pre mhc_post mhc_fused_post_pre mhc_pre_delayed mhc_fused_post_pre_delayed hc_head hc_collapse "
    "hc_expand "
    "sinkhorn rmsnorm mhc_pre_gemm_sqrsum mhc_pre_big_fuse mhc_fused_post_pre_gemm_sqrsum";

TEST(MalformedDescriptor, WithAnUnknownOperatorListsTheOperators) {
  EXPECT_EQ(error_of(""),
            "descriptor, character 1: OP cannot be ''; write one of " + std::string(kOperatorNames));
  EXPECT_EQ(error_of("mhc_prex:bf16:t1:n4:h512"),
            "descriptor, character 1: OP cannot be 'mhc_prex'; write one of " + std::string(kOperatorNames));
}

class MalformedText : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedText, GivesItsOneLine) { EXPECT_EQ(error_of(GetParam().text), GetParam().message); }

constexpr Malformed kMalformed[] = {
    // The leading fields.
    {"mhc_pre",
     "descriptor, character 8: DTYPE is missing; write OP:DTYPE:tTOKENS:nHC_MULT:hHIDDEN[:key=value]..."},
    {"mhc_pre:bf16:t1:n4",
     "descriptor, character 19: hHIDDEN is missing; write OP:DTYPE:tTOKENS:nHC_MULT:hHIDDEN[:key=value]..."},
    {"mhc_pre::t1:n4:h512", "descriptor, character 9: DTYPE cannot be ''; write bf16 or fp16"},
    {"mhc_pre:fp8:t1:n4:h512", "descriptor, character 9: DTYPE cannot be 'fp8'; write bf16 or fp16"},
    {"mhc_pre:fp32:t1:n4:h512", "descriptor, character 9: dtype is fp32, the streams are bf16 or fp16"},
    {"mhc_pre:bf16:33:n4:h512",
     "descriptor, character 14: tTOKENS cannot be '33'; write t and the number of tokens, as t33"},
    {"mhc_pre:bf16:t-1:n4:h512",
     "descriptor, character 14: tTOKENS cannot be 't-1'; write t and the number of tokens, as t33"},
    {"mhc_pre:bf16:t:n4:h512",
     "descriptor, character 14: tTOKENS cannot be 't'; write t and the number of tokens, as t33"},
    {"mhc_pre:bf16:t99999999999999999999:n4:h512",
     "descriptor, character 14: tTOKENS cannot be 't99999999999999999999'; write t and the number of tokens, "
     "as "
     "t33"},
    {"mhc_pre:bf16:t2147483649:n4:h512",
     "descriptor, character 14: num_tokens is 2147483649, must be 0 to 2^31"},
    {"mhc_pre:bf16:t1:n9:h512", "descriptor, character 17: hc_mult is 9, must be 1 to 8"},
    {"mhc_pre:bf16:t1:n0:h512", "descriptor, character 17: hc_mult is 0, must be 1 to 8"},
    {"mhc_pre:bf16:t1:4:h512",
     "descriptor, character 17: nHC_MULT cannot be '4'; write n and the number of streams, as n4"},
    {"mhc_pre:bf16:t1:n4:h0", "descriptor, character 20: hidden_size is 0, must be 1 to 2^31"},
    {"mhc_pre:bf16:t1:n4:512",
     "descriptor, character 20: hHIDDEN cannot be '512'; write h and the hidden size, as h4096"},
    {"mhc_pre:bf16:n4:t1:h512",
     "descriptor, character 14: tTOKENS cannot be 'n4'; write t and the number of tokens, as t33"},
    {" mhc_post:bf16:t1:n4:h512 ",
     "descriptor, character 1: OP cannot be ' mhc_post'; write one of mhc_pre mhc_post mhc_fused_post_pre "
     "mhc_pre_delayed mhc_fused_post_pre_delayed hc_head hc_collapse hc_expand sinkhorn rmsnorm "
     "mhc_pre_gemm_sqrsum mhc_pre_big_fuse mhc_fused_post_pre_gemm_sqrsum"},
    // Keys.
    {"hc_expand:bf16:t1:n4:h512:",
     "descriptor, character 27: an empty field; write key=value, or nothing after the last"},
    {"hc_expand:bf16:t1:n4:h512::seed=1",
     "descriptor, character 27: an empty field; write key=value, or nothing after the last"},
    {"mhc_post:bf16:t1:n4:h512:sed=1",
     "descriptor, character 26: no key of mhc_post reads 'sed=1'; the keys are in= seed="},
    {"mhc_post:bf16:t1:n4:h512:seed",
     "descriptor, character 26: no key of mhc_post reads 'seed'; the keys are in= seed="},
    {"mhc_post:bf16:t1:n4:h512:Seed=1",
     "descriptor, character 26: no key of mhc_post reads 'Seed=1'; the keys are in= seed="},
    {"mhc_post:bf16:t1:n4:h512:=1",
     "descriptor, character 26: no key of mhc_post reads '=1'; the keys are in= seed="},
    {"mhc_pre:bf16:t1:n4:h512:eps=1e-6",
     "descriptor, character 25: no key of mhc_pre reads 'eps=1e-6'; the keys are sk norm= repeat= mult= "
     "rms_eps= "
     "hc_pre_eps= hc_sinkhorn_eps= norm_eps= collapse= proj= in= seed="},
    {"mhc_pre:bf16:t1:n4:h512:sk=7",
     "descriptor, character 25: no key of mhc_pre reads 'sk=7'; the keys are sk norm= repeat= mult= rms_eps= "
     "hc_pre_eps= hc_sinkhorn_eps= norm_eps= collapse= proj= in= seed="},
    {"mhc_post:bf16:t1:n4:h512:seed=1:in=gauss:seed=2",
     "descriptor, character 42: seed stands twice, first at character 26; write it once"},
    {"mhc_pre:bf16:t1:n4:h512:sk2:sk2",
     "descriptor, character 29: sk stands twice, first at character 25; write it once"},
    // Values.
    {"mhc_pre:bf16:t1:n4:h512:sk",
     "descriptor, character 25: sk cannot be ''; write skS with a whole number S, as sk7"},
    {"mhc_pre:bf16:t1:n4:h512:sk-7",
     "descriptor, character 25: sk cannot be '-7'; write skS with a whole number S, as sk7"},
    {"mhc_pre:bf16:t1:n4:h512:sk0", "descriptor, character 25: split_k is 0, must be 1 to 4096"},
    {"mhc_pre:bf16:t1:n4:h512:norm=fp64",
     "descriptor, character 25: norm cannot be 'fp64'; write none, bf16, fp16 or fp32"},
    {"mhc_pre_delayed:bf16:t1:n4:h512:entry=first",
     "descriptor, character 33: entry cannot be 'first'; write carried, entry or broadcast"},
    {"mhc_pre:bf16:t1:n4:h512:repeat=2.5",
     "descriptor, character 25: repeat cannot be '2.5'; write a whole number, as 20"},
    {"mhc_pre:bf16:t1:n4:h512:repeat=1001",
     "descriptor, character 25: sinkhorn_repeat is 1001, must be 0 to 1000 for mhc_pre"},
    {"mhc_pre_delayed:bf16:t1:n4:h512:repeat=0",
     "descriptor, character 33: sinkhorn_repeat is 0, must be 1 to 1000 for mhc_pre_delayed"},
    {"mhc_pre:bf16:t1:n4:h512:mult=two",
     "descriptor, character 25: mult cannot be 'two'; write a finite number, as 2"},
    {"mhc_pre:bf16:t1:n4:h512:mult=inf",
     "descriptor, character 25: mult cannot be 'inf'; write a finite number, as 2"},
    {"mhc_pre:bf16:t1:n4:h512:mult=nan",
     "descriptor, character 25: mult cannot be 'nan'; write a finite number, as 2"},
    {"mhc_pre:bf16:t1:n4:h512:mult=1e39",
     "descriptor, character 25: mult cannot be '1e39'; write a finite number, as 2"},
    {"mhc_pre:bf16:t1:n4:h512:mult=+2",
     "descriptor, character 25: mult cannot be '+2'; write a finite number, as 2"},
    {"mhc_pre:bf16:t1:n4:h512:mult=0x10",
     "descriptor, character 25: mult cannot be '0x10'; write a finite number, as 2"},
    {"mhc_pre:bf16:t1:n4:h512:mult=2,5",
     "descriptor, character 25: mult cannot be '2,5'; write a finite number, as 2"},
    {"mhc_pre:bf16:t1:n4:h512:mult=2 ",
     "descriptor, character 25: mult cannot be '2 '; write a finite number, as 2"},
    {"mhc_pre:bf16:t1:n4:h512:mult=2.",
     "descriptor, character 25: mult cannot be '2.'; write a finite number, as 2"},
    {"mhc_pre:bf16:t1:n4:h512:mult=2e",
     "descriptor, character 25: mult cannot be '2e'; write a finite number, as 2"},
    {"mhc_pre:bf16:t1:n4:h512:mult=-",
     "descriptor, character 25: mult cannot be '-'; write a finite number, as 2"},
    {"mhc_pre:bf16:t1:n4:h512:rms_eps=",
     "descriptor, character 25: rms_eps cannot be ''; write a number from 0 to 1, as 1e-6"},
    {"mhc_pre:bf16:t1:n4:h512:rms_eps=-1e-6", "descriptor, character 25: rms_eps is -1e-06, must be 0 to 1"},
    {"mhc_pre:bf16:t1:n4:h512:hc_pre_eps=2", "descriptor, character 25: hc_pre_eps is 2, must be 0 to 1"},
    {"mhc_pre:bf16:t1:n4:h512:hc_sinkhorn_eps=1.5",
     "descriptor, character 25: hc_sinkhorn_eps is 1.5, must be 0 to 1"},
    {"mhc_pre:bf16:t1:n4:h512:norm=bf16:norm_eps=1.0000001",
     "descriptor, character 35: norm_eps is 1.0000001, must be 0 to 1"},
    {"mhc_pre:bf16:t1:n4:h512:norm=bf16:collapse=bf16",
     "descriptor, character 35: collapse cannot be 'bf16'; write storage, fp32_sumsq or fp32"},
    {"mhc_fused_post_pre:bf16:t1:n4:h512:next=bf16",
     "descriptor, character 36: next cannot be 'bf16'; write rounded, unrounded or fp32_sumsq"},
    {"mhc_pre:bf16:t1:n4:h512:proj=bf16",
     "descriptor, character 25: proj cannot be 'bf16'; write fp32, tf32, bf16x2 or bf16x1"},
    {"mhc_pre:bf16:t1:n4:h512:in=",
     "descriptor, character 25: in cannot be ''; write the name of an input regime, as gauss"},
    {"mhc_pre:bf16:t1:n4:h512:in=Gauss",
     "descriptor, character 25: in cannot be 'Gauss'; write the name of an input regime, as gauss"},
    {"mhc_pre:bf16:t1:n4:h512:seed=18446744073709551616",
     "descriptor, character 25: seed cannot be '18446744073709551616'; write a whole number below 2^64, as "
     "42"},
    {"mhc_pre:bf16:t1:n4:h512:seed=-1",
     "descriptor, character 25: seed cannot be '-1'; write a whole number below 2^64, as 42"},
    {"mhc_pre:bf16:t1:n4:h512:seed=0x2a",
     "descriptor, character 25: seed cannot be '0x2a'; write a whole number below 2^64, as 42"},
    // Text that no terminal should get as it is.
    {"mhc_pre:bf16:t1:n4:h512:in=a\nb",
     "descriptor, character 25: in cannot be 'a\\x0ab'; write the name of an input regime, as gauss"},
    {std::string_view("mhc_pre:bf16:t1:n4:h512:mult=2\0", 31),
     "descriptor, character 25: mult cannot be '2\\x00'; write a finite number, as 2"},
    {"mhc_pre:bf16:t1:n4:h512:in=ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZ",
     "descriptor, character 25: in cannot be 'ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMN...'; write the name "
     "of an "
     "input regime, as gauss"},
    // Keys that the case does not depend on.
    {"mhc_post:bf16:t1:n4:h512:rms_eps=1e-6",
     "descriptor, character 26: this case of mhc_post does not depend on rms_eps: it is for operators that "
     "compute "
     "mixes; leave it out"},
    {"mhc_post:bf16:t1:n4:h512:sk2",
     "descriptor, character 26: this case of mhc_post does not depend on sk: it is for operators with a "
     "projection; "
     "leave it out"},
    {"mhc_post:bf16:t1:n4:h512:norm=bf16", "descriptor, character 26: mhc_post takes no norm weight"},
    {"mhc_post:bf16:t1:n4:h512:norm=none",
     "descriptor, character 26: this case of mhc_post does not depend on norm: it is for operators with a "
     "fused "
     "rmsnorm; leave it out"},
    {"mhc_pre:bf16:t1:n4:h512:entry=entry",
     "descriptor, character 25: mhc_pre has no entry form, only mhc_pre_delayed has"},
    {"mhc_pre:bf16:t1:n4:h512:norm_eps=0:seed=2",
     "descriptor, character 25: this case of mhc_pre does not depend on norm_eps: it is for cases with an "
     "rmsnorm "
     "(norm=bf16, fp16 or fp32); leave it out"},
    {"mhc_pre:bf16:t1:n4:h512:collapse=fp32",
     "descriptor, character 25: this case of mhc_pre does not depend on collapse: it is for a collapse with "
     "a fused "
     "rmsnorm (norm=bf16, fp16 or fp32); leave it out"},
    {"rmsnorm:bf16:t1:n4:h512:norm=bf16:collapse=fp32",
     "descriptor, character 35: this case of rmsnorm does not depend on collapse: it is for a collapse with "
     "a fused "
     "rmsnorm (norm=bf16, fp16 or fp32); leave it out"},
    {"mhc_pre:bf16:t1:n4:h512:next=rounded",
     "descriptor, character 25: this case of mhc_pre does not depend on next: it is for operators with "
     "mhc_post "
     "before a projection; leave it out"},
    {"mhc_pre_big_fuse:bf16:t1:n4:h512:proj=fp32",
     "descriptor, character 34: this case of mhc_pre_big_fuse does not depend on proj: it is for operators "
     "with a "
     "projection; leave it out"},
    {"hc_head:bf16:t1:n4:h512:repeat=20",
     "descriptor, character 25: this case of hc_head does not depend on repeat: it is for operators with a "
     "Sinkhorn "
     "stage; leave it out"},
    {"hc_head:bf16:t1:n4:h512:hc_sinkhorn_eps=0",
     "descriptor, character 25: this case of hc_head does not depend on hc_sinkhorn_eps: it is for operators "
     "with a "
     "Sinkhorn stage; leave it out"},
    {"sinkhorn:bf16:t1:n4:h512:mult=2",
     "descriptor, character 26: this case of sinkhorn does not depend on mult: it is for operators that "
     "compute a "
     "post_mix; leave it out"},
    {"sinkhorn:bf16:t1:n4:h512:hc_pre_eps=0",
     "descriptor, character 26: this case of sinkhorn does not depend on hc_pre_eps: it is for operators "
     "that "
     "compute a pre_mix; leave it out"},
    // What is missing.
    {"rmsnorm:bf16:t1:n4:h512",
     "descriptor, character 24: rmsnorm needs a norm weight: norm=bf16, fp16 or fp32"},
    {"rmsnorm:bf16:t1:n4:h512:norm=none",
     "descriptor, character 34: rmsnorm needs a norm weight: norm=bf16, fp16 or fp32"},
};

INSTANTIATE_TEST_SUITE_P(Descriptor, MalformedText, testing::ValuesIn(kMalformed));

}  // namespace
}  // namespace mhcheck
