#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/simulator/instruction_set.h"
#include "kernels/simulator/not_simulated.h"
#include "tests/simulator/assembler.h"
#include "tests/simulator/tested_mnemonics.h"

namespace mhcheck::simulator::testing {
namespace {

// The instructions of a production mHC library for gfx950, from its disassembly (145 kernels): 171 with
// encodings counted apart, 157 operations.
constexpr const char* kProduction = R"(
s_branch s_cbranch_scc0 s_cbranch_scc1 s_cbranch_vccz s_cbranch_vccnz s_cbranch_execz s_cbranch_execnz s_endpgm s_barrier
s_waitcnt s_nop s_icache_inv
s_mov_b32 s_mov_b64 s_movk_i32 s_cselect_b32 s_cselect_b64
s_add_u32 s_addc_u32 s_add_i32 s_sub_i32 s_addk_i32 s_mulk_i32 s_mul_i32 s_mul_hi_u32 s_mul_hi_i32 s_abs_i32 s_max_i32
s_lshl1_add_u32 s_lshl2_add_u32 s_lshl4_add_u32
s_and_b32 s_and_b64 s_or_b32 s_or_b64 s_xor_b32 s_xor_b64 s_andn2_b32 s_andn2_b64 s_lshl_b32 s_lshl_b64 s_lshr_b32 s_ashr_i32
s_bfe_i32
s_and_saveexec_b64 s_or_saveexec_b64 s_andn2_saveexec_b64
s_cmp_eq_u32 s_cmp_lg_u32 s_cmp_ge_u32 s_cmp_lt_u32 s_cmp_lt_i32 s_cmp_le_i32 s_cmp_gt_i32 s_cmp_ge_i32 s_cmpk_gt_u32
s_cmpk_lt_u32 s_cmpk_gt_i32 s_cmpk_lt_i32 s_bitcmp1_b32
s_load_dword s_load_dwordx2 s_load_dwordx4 s_load_dwordx8 s_load_dwordx16
v_mov_b32 v_mov_b64 v_readfirstlane_b32 v_readlane_b32 v_cndmask_b32 v_perm_b32
v_add_f32 v_sub_f32 v_mul_f32 v_max_f32 v_fma_f32 v_fmac_f32 v_fmamk_f32 v_ldexp_f32 v_rndne_f32 v_exp_f32 v_rsq_f32 v_rcp_f32
v_rcp_iflag_f32 v_div_scale_f32 v_div_fmas_f32 v_div_fixup_f32
v_pk_fma_f32 v_pk_mul_f32 v_pk_add_f32 v_fma_mix_f32
v_cvt_f32_f16 v_cvt_pk_bf16_f32 v_cvt_pk_f16_f32 v_cvt_f32_u32 v_cvt_f32_i32 v_cvt_u32_f32 v_cvt_i32_f32
v_add_u32 v_subrev_u32 v_subrev_co_u32 v_add3_u32 v_add_lshl_u32 v_lshl_add_u32 v_lshl_add_u64 v_lshl_or_b32 v_mul_lo_u32
v_mul_u32_u24 v_mad_u32_u24 v_mad_u64_u32 v_sub_u16 v_mul_lo_u16
v_and_b32 v_or_b32 v_xor_b32 v_or3_b32 v_bitop3_b32 v_bfe_u32 v_bfi_b32 v_lshlrev_b32 v_lshlrev_b16 v_lshlrev_b64 v_lshrrev_b32
v_lshrrev_b16 v_ashrrev_i32
v_cmp_eq_u32 v_cmp_ne_u32 v_cmp_gt_u32 v_cmp_lt_u32 v_cmp_gt_i32 v_cmp_le_i32 v_cmp_gt_i64 v_cmp_gt_f32 v_cmp_nlt_f32
v_cmp_ngt_f32 v_cmp_lt_u16 v_cmp_gt_u16
v_mfma_f32_16x16x4_f32 v_mfma_f32_16x16x32_bf16
buffer_load_dword buffer_load_dwordx2 buffer_load_dwordx4 buffer_store_dword buffer_store_dwordx2 buffer_store_dwordx4
global_load_dword global_store_dword
ds_read_b32 ds_read_b128 ds_read2_b32 ds_read2st64_b32 ds_read2st64_b64 ds_write_b32 ds_write_b64 ds_write_b128 ds_write2_b32
ds_bpermute_b32
)";

std::vector<std::string> production_mnemonics() {
  std::istringstream words(kProduction);
  return {std::istream_iterator<std::string>(words), {}};
}

TEST(Coverage, EveryProductionInstructionHasAHandlerAndATest) {
  EXPECT_EQ(production_mnemonics().size(), 157u);
  for (const std::string& mnemonic : production_mnemonics()) {
    EXPECT_GE(InstructionSet::get().find(mnemonic), 0) << mnemonic << " has no handler";
    EXPECT_TRUE(tested_mnemonics().contains(mnemonic)) << mnemonic << " has no test";
  }
}

// What the assembler takes beside the names that the disassembler prints, with operands that fit.
struct Spelling {
  const char* other;
  const char* printed;
  const char* operands;
};
constexpr Spelling kOtherSpellings[] = {
    {"v_mul_lo_i32", "v_mul_lo_u32", "v0, v1, v2"},
    {"v_mfma_f32_16x16x16bf16_1k", "v_mfma_f32_16x16x16_bf16", "v[0:3], v[40:41], v[40:41], v[0:3]"},
    {"v_mfma_f32_16x16x16f16", "v_mfma_f32_16x16x16_f16", "v[0:3], v[40:41], v[40:41], v[0:3]"},
    {"v_mfma_f32_16x16x1f32", "v_mfma_f32_16x16x1_4b_f32", "v[0:15], v40, v40, v[0:15]"},
    {"v_mfma_f32_16x16x4bf16_1k", "v_mfma_f32_16x16x4_4b_bf16", "v[0:15], v[40:41], v[40:41], v[0:15]"},
    {"v_mfma_f32_16x16x4f16", "v_mfma_f32_16x16x4_4b_f16", "v[0:15], v[40:41], v[40:41], v[0:15]"},
    {"v_mfma_f32_16x16x4f32", "v_mfma_f32_16x16x4_f32", "v[0:3], v40, v40, v[0:3]"},
    {"v_mfma_f32_32x32x1f32", "v_mfma_f32_32x32x1_2b_f32", "v[0:31], v40, v40, v[0:31]"},
    {"v_mfma_f32_32x32x2f32", "v_mfma_f32_32x32x2_f32", "v[0:15], v40, v40, v[0:15]"},
    {"v_mfma_f32_32x32x4bf16", "v_mfma_f32_32x32x4_2b_bf16", "v[0:31], v[40:41], v[40:41], v[0:31]"},
    {"v_mfma_f32_32x32x4bf16_1k", "v_mfma_f32_32x32x4_2b_bf16", "v[0:31], v[40:41], v[40:41], v[0:31]"},
    {"v_mfma_f32_32x32x4f16", "v_mfma_f32_32x32x4_2b_f16", "v[0:31], v[40:41], v[40:41], v[0:31]"},
    {"v_mfma_f32_32x32x8bf16_1k", "v_mfma_f32_32x32x8_bf16", "v[0:15], v[40:41], v[40:41], v[0:15]"},
    {"v_mfma_f32_32x32x8f16", "v_mfma_f32_32x32x8_f16", "v[0:15], v[40:41], v[40:41], v[0:15]"},
    {"v_mfma_f32_4x4x1f32", "v_mfma_f32_4x4x1_16b_f32", "v[0:3], v40, v40, v[0:3]"},
    {"v_mfma_f32_4x4x4bf16_1k", "v_mfma_f32_4x4x4_16b_bf16", "v[0:3], v[40:41], v[40:41], v[0:3]"},
    {"v_mfma_f32_4x4x4f16", "v_mfma_f32_4x4x4_16b_f16", "v[0:3], v[40:41], v[40:41], v[0:3]"},
    {"v_mfma_f64_16x16x4f64", "v_mfma_f64_16x16x4_f64", "v[0:7], v[40:41], v[40:41], v[0:7]"},
    {"v_mfma_f64_4x4x4f64", "v_mfma_f64_4x4x4_4b_f64", "v[0:1], v[40:41], v[40:41], v[0:1]"},
    {"v_mfma_i32_16x16x4i8", "v_mfma_i32_16x16x4_4b_i8", "v[0:15], v40, v40, v[0:15]"},
    {"v_mfma_i32_32x32x4i8", "v_mfma_i32_32x32x4_2b_i8", "v[0:31], v40, v40, v[0:31]"},
    {"v_mfma_i32_4x4x4i8", "v_mfma_i32_4x4x4_16b_i8", "v[0:3], v40, v40, v[0:3]"},
};

TEST(Coverage, EveryInstructionOfGfx950HasAHandlerOrAReasonForNone) {
  const std::set<std::string> known = gfx950_mnemonics();
  EXPECT_GT(known.size(), 1200u) << "the list of opcodes has not been read";
  std::set<std::string> accounted;
  for (const Row* row : InstructionSet::get().rows()) {
    EXPECT_TRUE(known.contains(std::string(row->mnemonic))) << row->mnemonic << " is no gfx950 instruction";
    accounted.insert(std::string(row->mnemonic));
  }
  for (const NotSimulated& row : not_simulated()) {
    EXPECT_TRUE(known.contains(std::string(row.mnemonic))) << row.mnemonic << " is no gfx950 instruction";
    EXPECT_TRUE(accounted.insert(std::string(row.mnemonic)).second) << row.mnemonic << " has a handler";
  }
  for (const Spelling& spelling : kOtherSpellings) {
    const auto code = [&](const char* mnemonic) {
      return assemble(std::string(mnemonic) + " " + spelling.operands);
    };
    EXPECT_EQ(code(spelling.other), code(spelling.printed)) << spelling.other;
    EXPECT_TRUE(accounted.contains(spelling.printed)) << spelling.printed;
    EXPECT_TRUE(accounted.insert(spelling.other).second) << spelling.other << " has a handler";
  }
  for (const std::string& mnemonic : known)
    EXPECT_TRUE(accounted.contains(mnemonic)) << mnemonic << " has neither a handler nor a reason for none";
}

TEST(Coverage, EveryHandlerHasATest) {
  for (const Row* row : InstructionSet::get().rows()) {
    EXPECT_TRUE(tested_mnemonics().contains(std::string(row->mnemonic))) << row->mnemonic << " has no test";
  }
}

TEST(Coverage, TestsNameOnlyInstructionsThatExist) {
  for (const std::string& mnemonic : tested_mnemonics())
    EXPECT_GE(InstructionSet::get().find(mnemonic), 0) << mnemonic;
}

}  // namespace
}  // namespace mhcheck::simulator::testing
