#include <gtest/gtest.h>

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/simulator/instruction_set.h"
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
