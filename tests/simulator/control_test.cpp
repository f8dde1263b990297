#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <map>
#include <stdexcept>

#include "kernels/simulator/not_simulated.h"
#include "kernels/simulator/simulator.h"
#include "tests/simulator/assembler.h"
#include "tests/simulator/single_wave.h"
#include "tests/simulator/tested_mnemonics.h"

namespace mhcheck::simulator::testing {
namespace {

constexpr uint64_t kCode = uint64_t{1} << 41;

// A kernel written in assembly, launched like any other. s[0:1] is the kernel argument pointer, s2 the
// workgroup.
class Launch : public ::testing::Test {
 protected:
  LaunchResult run(const std::string& text) {
    const Program program(assemble(text), kCode);
    kernel_.entry_address = kCode;
    return launch(memory_, program, kernel_, dispatch_, options_);
  }
  uint32_t word(uint64_t offset) {
    uint32_t value = 0;
    memory_.read(output_ + offset, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  void SetUp() override {
    output_ = memory_.allocate(65536, "output");
    const uint64_t arguments = memory_.allocate(8, "arguments");
    memory_.write(arguments, std::as_bytes(std::span(&output_, 1)));
    kernel_.name = "assembled";
    kernel_.rsrc1 = 0x00af0000 | 3;  // 32 VGPRs; IEEE, DX10_CLAMP, denormals kept
    kernel_.rsrc2 = 2 << 1 | 1 << 7;
    kernel_.rsrc3 = 7;
    kernel_.code_properties = 8;
    dispatch_.block = {64, 1, 1};
    dispatch_.kernarg_address = arguments;
  }
  Memory memory_;
  KernelState kernel_;
  Dispatch dispatch_;
  Options options_;
  uint64_t output_ = 0;
};

const std::string kStoreS3 =
    "s_load_dwordx2 s[10:11], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_mov_b32_e32 v1, s3\nv_lshlrev_b32_e32 v2, "
    "2, v0\n"
    "global_store_dword v2, v1, s[10:11]\ns_endpgm\n";

const Tests kBranches{"s_branch",        "s_cbranch_scc0",  "s_cbranch_scc1",   "s_cbranch_vccz",
                      "s_cbranch_vccnz", "s_cbranch_execz", "s_cbranch_execnz", "s_endpgm",
                      "s_waitcnt",       "s_nop",           "s_getpc_b64",      "s_setpc_b64",
                      "s_swappc_b64",    "s_call_b64"};
TEST_F(Launch, EveryConditionalBranchGoesBothWays) {
  const struct {
    const char* set;
    const char* clear;
    const char* taken;
    const char* not_taken;
  } cases[] = {{"s_cmp_eq_u32 0, 0", "s_cmp_eq_u32 0, 1", "s_cbranch_scc1", "s_cbranch_scc0"},
               {"s_mov_b64 vcc, 4", "s_mov_b64 vcc, 0", "s_cbranch_vccnz", "s_cbranch_vccz"},
               {"s_mov_b64 exec, 4", "s_mov_b64 exec, 0", "s_cbranch_execnz", "s_cbranch_execz"}};
  for (const auto& c : cases) {
    // Each branch that behaves adds a bit to s3.
    run(fmt::format(
            "s_mov_b32 s3, 0\ns_mov_b64 s[20:21], exec\n{0}\n{2} a\ns_branch b\na: s_or_b32 s3, s3, 1\nb:\n"
            "{0}\n{3} c\ns_or_b32 s3, s3, 2\nc:\n{1}\n{2} d\ns_or_b32 s3, s3, 4\nd:\n{1}\n{3} e\ns_branch "
            "f\ne: s_or_b32 s3, s3, 8\nf:\n"
            "s_mov_b64 exec, s[20:21]\n",
            c.set, c.clear, c.taken, c.not_taken) +
        kStoreS3);
    EXPECT_EQ(word(0), 15u) << c.taken;
    EXPECT_EQ(word(63 * 4), 15u) << c.taken;
  }
}
const Tests kDebugBranches{"s_cbranch_cdbgsys", "s_cbranch_cdbguser", "s_cbranch_cdbgsys_or_user",
                           "s_cbranch_cdbgsys_and_user"};
TEST_F(Launch, BranchesOnADebuggersFlagsAreNotTaken) {
  run("s_mov_b32 s3, 0\ns_cbranch_cdbgsys away\ns_cbranch_cdbguser away\ns_cbranch_cdbgsys_or_user away\n"
      "s_cbranch_cdbgsys_and_user away\ns_mov_b32 s3, 1\naway: s_nop 0\n" +
      kStoreS3);
  EXPECT_EQ(word(0), 1u);
}
TEST_F(Launch, LoopsCountAndCallsReturn) {
  run("s_mov_b32 s3, 0\ns_mov_b32 s4, 100\nloop: s_add_u32 s3, s3, s4\ns_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, "
      "0\ns_cbranch_scc1 loop\n"
      "s_getpc_b64 s[30:31]\nhere: s_add_u32 s30, s30, function-here\ns_addc_u32 s31, s31, 0\ns_swappc_b64 "
      "s[32:33], s[30:31]\n"
      "s_call_b64 s[32:33], function\ns_branch done\nfunction: s_add_u32 s3, s3, 7\ns_setpc_b64 "
      "s[32:33]\ndone:\n" +
      kStoreS3);
  EXPECT_EQ(word(0), 5050u + 14u);
}

const Tests kModes{"s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32"};
TEST_F(Launch, ModeIsReadableAndWritable) {
  run("s_getreg_b32 s3, hwreg(HW_REG_MODE, 4, 4)\n" + kStoreS3);
  EXPECT_EQ(word(0), 0xfu);
  run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1\ns_mov_b32 s5, 2\ns_setreg_b32 hwreg(HW_REG_MODE, 2, "
      "2), s5\n"
      "s_getreg_b32 s3, hwreg(HW_REG_MODE, 0, 8)\n" +
      kStoreS3);
  EXPECT_EQ(word(0), 0xf9u);
  // Rounding up, 1 + 2^-60 is the next float.
  run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1\nv_mov_b32_e32 v3, 0x21800000\nv_add_f32_e32 v3, 1.0, "
      "v3\nv_readfirstlane_b32 s3, v3\n" +
      kStoreS3);
  EXPECT_EQ(word(0), 0x3f800001u);
}

const Tests kIndexing{"s_set_gpr_idx_on", "s_set_gpr_idx_idx", "s_set_gpr_idx_mode", "s_set_gpr_idx_off"};
TEST(RelativeRegisters, AddM0ToTheOperandsThatAreSelected) {
  SingleWave wave;
  for (unsigned reg = 0; reg < 40; ++reg)
    for (int lane = 0; lane < kLanes; ++lane) wave.v(reg, lane) = 1000 + reg;
  wave.s(5) = 3;
  wave.s(6) = 8;
  wave.run(
      "s_set_gpr_idx_on s5, gpr_idx(SRC0)\nv_mov_b32_e32 v0, v10\ns_set_gpr_idx_idx s6\nv_mov_b32_e32 v1, "
      "v10\n"
      "s_set_gpr_idx_mode gpr_idx(SRC1,DST)\nv_add_u32_e32 v2, v20, v21\ns_set_gpr_idx_off\nv_mov_b32_e32 "
      "v3, v10");
  EXPECT_EQ(wave.v(0, 9), 1013u);
  EXPECT_EQ(wave.v(1, 9), 1018u);
  EXPECT_EQ(wave.v(10, 9), 1020u + 1029u);
  EXPECT_EQ(wave.v(2, 9), 1002u);
  EXPECT_EQ(wave.v(3, 9), wave.v(10, 9));
}

const Tests kSystem{"s_barrier",      "s_trap",         "s_sleep",    "s_setprio",        "s_icache_inv",
                    "s_dcache_inv",   "s_dcache_wb",    "buffer_inv", "buffer_wbl2",      "s_memtime",
                    "s_memrealtime",  "v_nop",          "s_sendmsg",  "s_sethalt",        "s_wakeup",
                    "s_incperflevel", "s_decperflevel", "v_clrexcp",  "s_dcache_inv_vol", "s_dcache_wb_vol",
                    "s_ttracedata"};
TEST_F(Launch, InstructionsWithoutFunctionalEffectDoNothing) {
  const LaunchResult result =
      run("s_mov_b32 s3, 42\ns_sleep 3\ns_setprio 2\ns_icache_inv\ns_dcache_inv\ns_dcache_wb\nbuffer_inv "
          "sc1\nbuffer_wbl2 sc1\ns_nop 7\nv_nop\nv_clrexcp\ns_wakeup\ns_incperflevel 1\ns_decperflevel "
          "1\ns_dcache_inv_vol\ns_dcache_wb_vol\ns_sethalt 0\ns_ttracedata\n"
          "s_trap 3\ns_sendmsg sendmsg(MSG_INTERRUPT)\ns_memtime s[6:7]\ns_memrealtime s[8:9]\ns_waitcnt "
          "vmcnt(0) lgkmcnt(0)\ns_sub_u32 s8, s8, s6\ns_cmp_eq_u32 s8, 1\ns_cselect_b32 s3, s3, 0\n" +
          kStoreS3);
  EXPECT_EQ(word(0), 42u);  // time advances by the instructions in between
  EXPECT_EQ(result.counters.smem, 7u);
  EXPECT_EQ(result.counters.workgroups, 1u);
}

// Four waves fill LDS, meet, and read what another wave wrote; without the barrier they would read poison.
TEST_F(Launch, BarriersOrderTheWavesOfAWorkgroup) {
  kernel_.group_segment_bytes = 1024;
  dispatch_.block = {256, 1, 1};
  for (uint64_t seed : {0u, 1u, 2u, 3u}) {
    options_.seed = seed;
    run("s_load_dwordx2 s[10:11], s[0:1], 0x0\nv_lshlrev_b32_e32 v1, 2, v0\nds_write_b32 v1, v0\ns_waitcnt "
        "lgkmcnt(0)\ns_barrier\n"
        "v_xor_b32_e32 v2, 0x3fc, v1\nds_read_b32 v3, v2\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v3, "
        "s[10:11]\ns_endpgm\n");
    for (uint32_t i = 0; i < 256; ++i) ASSERT_EQ(word(4 * i), 255 - i) << "seed " << seed;
  }
}
TEST_F(Launch, AWaveThatEndedCountsAsArrived) {
  dispatch_.block = {128, 1, 1};
  run("v_readfirstlane_b32 s3, v0\ns_cmp_lg_u32 s3, 0\ns_cbranch_scc1 out\ns_barrier\ns_mov_b32 s3, 9\n" +
      kStoreS3 + "out: s_endpgm\n");
  EXPECT_EQ(word(0), 9u);
}

TEST_F(Launch, APartialWaveHasPartialExec) {
  dispatch_.block = {70, 1, 1};
  run("s_mov_b32 s3, 5\n" + kStoreS3);
  EXPECT_EQ(word(69 * 4), 5u);
  EXPECT_EQ(word(70 * 4), kPoison);
}
TEST_F(Launch, WorkItemIdsArePackedAndWorkgroupIdsFollowTheUserSgprs) {
  dispatch_.block = {4, 3, 5};
  dispatch_.grid = {2, 3, 2};
  kernel_.rsrc2 = 2 << 1 | 7 << 7 | 2 << 11;
  // out[((z * 3 + y) * 2 + x) * 64 + flat id] = packed id, for the sixty work-items of each workgroup
  run("s_load_dwordx2 s[10:11], s[0:1], 0x0\ns_mul_i32 s5, s4, 3\ns_add_u32 s5, s5, s3\ns_lshl_b32 s5, s5, "
      "1\ns_add_u32 s5, s5, s2\ns_lshl_b32 s5, s5, 8\n"
      "v_mbcnt_lo_u32_b32 v1, -1, 0\nv_mbcnt_hi_u32_b32 v1, -1, v1\nv_lshlrev_b32_e32 v1, 2, "
      "v1\nv_add_u32_e32 v1, s5, v1\ns_waitcnt lgkmcnt(0)\n"
      "global_store_dword v1, v0, s[10:11]\ns_endpgm\n");
  for (uint32_t group = 0; group < 12; ++group) {
    for (uint32_t flat = 0; flat < 60; ++flat) {
      ASSERT_EQ(word(group * 256 + flat * 4), flat % 4 | flat / 4 % 3 << 10 | flat / 12 << 20);
    }
  }
}
TEST_F(Launch, PreloadedArgumentsSkipTheFallback) {
  kernel_.kernarg_preload = 2;
  kernel_.code_properties = 8;
  kernel_.rsrc2 = 4 << 1 | 1 << 7;
  run("s_trap 2\n.fill 63, 4, 0xbf800000\nv_lshlrev_b32_e32 v1, 2, v0\nglobal_store_dword v1, v0, "
      "s[2:3]\ns_endpgm\n");
  EXPECT_EQ(word(4 * 63), 63u);
}

// ---- What ends a launch early

template <class Expected, class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Expected& fault) {
    return fault.what();
  }
  return "nothing was thrown";
}

TEST_F(Launch, AnEndlessLoopIsNamed) {
  options_.instruction_budget = 10000;
  try {
    run("s_mov_b32 s3, 0\nouter: s_nop 0\ns_add_u32 s3, s3, 1\ns_branch outer\n");
    FAIL() << "ended";
  } catch (const BudgetExceeded& fault) {
    EXPECT_EQ(fault.loop_address(), kCode + 4);
    EXPECT_NE(std::string(fault.what()).find("0x20000000004"), std::string::npos) << fault.what();
  }
}
TEST_F(Launch, UnknownInstructionsAreNamedWhenReached) {
  const std::string message =
      message_of<UnknownInstruction>([&] { run("s_nop 0\ns_setvskip s5, 0\ns_endpgm\n"); });
  EXPECT_NE(message.find("no handler for s_setvskip: it makes the wave"), std::string::npos) << message;
  EXPECT_NE(message.find("0x20000000004"), std::string::npos) << message;
  EXPECT_NE(message.find("kernel assembled"), std::string::npos) << message;
  EXPECT_NE(message_of<UnknownInstruction>([&] { run(".long 0xffffffff\n"); }).find("no gfx950 instruction"),
            std::string::npos);
  EXPECT_NO_THROW(run("s_branch over\ns_setvskip s5, 0\nover: s_endpgm\n"));
}
TEST_F(Launch, WhatIsNotSimulatedFailsByNameAndReason) {
  const std::map<std::string_view, std::string> operands = {{"s_rfe_b64", "s[2:3]"},
                                                            {"s_rfe_restore_b64", "s[2:3], s4"},
                                                            {"s_endpgm_saved", ""},
                                                            {"s_cbranch_g_fork", "s[2:3], s[4:5]"},
                                                            {"s_cbranch_i_fork", "s[2:3], 4"},
                                                            {"s_cbranch_join", "s2"},
                                                            {"ds_gws_init", "v2 gds"},
                                                            {"ds_gws_barrier", "v2 gds"},
                                                            {"ds_gws_sema_br", "v2 gds"},
                                                            {"ds_gws_sema_p", "gds"},
                                                            {"ds_gws_sema_v", "gds"},
                                                            {"ds_gws_sema_release_all", "gds"},
                                                            {"s_setvskip", "s2, 0"},
                                                            {"s_setkill", "0"},
                                                            {"s_sendmsghalt", "sendmsg(MSG_INTERRUPT)"},
                                                            {"s_endpgm_ordered_ps_done", ""},
                                                            {"v_screen_partition_4se_b32", "v1, v2"},
                                                            {"v_mfma_ld_scale_b32", "v1, v2"}};
  EXPECT_EQ(operands.size(), not_simulated().size());
  for (const NotSimulated& row : not_simulated()) {
    ASSERT_TRUE(operands.contains(row.mnemonic)) << row.mnemonic;
    const std::string text = fmt::format("{} {}\ns_endpgm\n", row.mnemonic, operands.at(row.mnemonic));
    const std::string message = message_of<UnknownInstruction>([&] { run(text); });
    const std::string expected = fmt::format("no handler for {}: it {}", row.mnemonic, row.reason);
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  }
}
TEST_F(Launch, WildControlFlowIsAFault) {
  EXPECT_NE(message_of<IllegalOperation>([&] { run("s_nop 0\n"); }).find("past the end"), std::string::npos);
  EXPECT_NE(message_of<IllegalOperation>([&] { run("s_branch 1000\n"); }).find("outside the code"),
            std::string::npos);
  EXPECT_NE(message_of<IllegalOperation>([&] {
              run("s_mov_b64 s[4:5], 12\ns_setpc_b64 s[4:5]\n");
            }).find("jump to 0xc"),
            std::string::npos);
  EXPECT_NE(message_of<IllegalOperation>([&] { run("s_trap 2\n"); }).find("aborted itself"),
            std::string::npos);
}
TEST_F(Launch, RegistersBeyondTheDescriptorAreRefused) {
  EXPECT_NE(message_of<IllegalOperation>([&] { run("v_mov_b32_e32 v32, 0\ns_endpgm\n"); }).find("names v32"),
            std::string::npos);
  EXPECT_NE(message_of<IllegalOperation>([&] { run("v_accvgpr_write_b32 a0, 0\ns_endpgm\n"); }).find("a0"),
            std::string::npos);
}
TEST_F(Launch, ImpossibleDispatchesAreRefused) {
  dispatch_.block = {1025, 1, 1};
  EXPECT_THROW(run("s_endpgm\n"), std::invalid_argument);
  dispatch_.block = {64, 1, 1};
  dispatch_.dynamic_lds_bytes = 160 * 1024 + 1;
  EXPECT_THROW(run("s_endpgm\n"), std::invalid_argument);
}
TEST_F(Launch, TheLowestFaultingWorkgroupIsReportedForAnyThreadCount) {
  dispatch_.grid = {400, 1, 1};
  for (int threads : {1, 2, 7}) {
    options_.threads = threads;
    const std::string message = message_of<IllegalOperation>(
        [&] { run("s_cmp_gt_u32 s2, 36\ns_cbranch_scc0 fine\ns_trap 2\nfine: s_endpgm\n"); });
    EXPECT_NE(message.find("workgroup (37, 0, 0)"), std::string::npos) << message;
  }
}

// ---- Workgroups that communicate

TEST_F(Launch, FloatAtomicsGiveTheSameBitsForAnyThreadCount) {
  dispatch_.grid = {333, 1, 1};
  uint32_t first = 0;
  for (int threads : {1, 2, 5}) {
    options_.threads = threads;
    const uint32_t zero = 0;
    memory_.write(output_, std::as_bytes(std::span(&zero, 1)));
    run("s_load_dwordx2 s[10:11], s[0:1], 0x0\nv_cvt_f32_u32_e32 v1, s2\nv_rcp_f32_e32 v1, v1\nv_mov_b32_e32 "
        "v2, 0\ns_cmp_eq_u32 s2, 0\ns_cbranch_scc1 out\ns_mov_b64 exec, 1\n"
        "s_waitcnt lgkmcnt(0)\nglobal_atomic_add_f32 v2, v1, s[10:11]\nout: s_endpgm\n");
    if (threads == 1) first = word(0);
    EXPECT_EQ(word(0), first);
  }
  EXPECT_NEAR(std::bit_cast<float>(first), 6.38, 0.01);  // the harmonic number of 332
}
TEST_F(Launch, WorkgroupsMayWaitForLaterOnes) {
  // Each workgroup counts itself in, then spins until all forty have: a grid barrier.
  dispatch_.grid = {40, 1, 1};
  const uint32_t zero = 0;
  memory_.write(output_, std::as_bytes(std::span(&zero, 1)));
  run("s_load_dwordx2 s[10:11], s[0:1], 0x0\ns_mov_b64 exec, 1\nv_mov_b32_e32 v1, 1\nv_mov_b32_e32 v2, "
      "0\ns_waitcnt lgkmcnt(0)\nglobal_atomic_add v2, v1, s[10:11]\n"
      "spin: global_load_dword v3, v2, s[10:11] sc1\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s3, "
      "v3\ns_cmp_lt_u32 s3, 40\ns_cbranch_scc1 spin\ns_endpgm\n");
  EXPECT_EQ(word(0), 40u);
}

TEST_F(Launch, EveryCounterCountsWhatItIsNamedAfter) {
  kernel_.group_segment_bytes = 2048;
  dispatch_.grid = {2, 1, 1};
  const Counters counters =
      run("s_load_dwordx2 s[10:11], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_mov_b32 s3, 3\n"
          "loop: s_sub_u32 s3, s3, 1\ns_cmp_lg_u32 s3, 0\ns_cbranch_scc1 loop\n"
          "v_lshlrev_b32_e32 v3, 8, v0\nv_mov_b32_e32 v4, 0\nv_mov_b32_e32 v5, 0\nv_mov_b32_e32 v6, 0\n"
          "v_mov_b32_e32 v7, 0\nv_mfma_f32_4x4x1_16b_f32 v[4:7], v0, v0, v[4:7]\n"
          "s_mov_b64 exec, 31\n"  // five lanes, 256 bytes apart
          "ds_write_b32 v3, v0\nds_read_b64 v[8:9], v3\nglobal_load_dword v10, v3, s[10:11]\n"
          "global_store_dwordx2 v3, v[8:9], s[10:11]\nglobal_store_dword v3, v10, s[10:11] offset:64\n"
          "s_endpgm\n")
          .counters;
  // Two workgroups of one wave each.
  EXPECT_EQ(counters.workgroups, 2u);
  EXPECT_EQ(counters.waves, 2u);
  EXPECT_EQ(counters.smem, 2 * 1u);
  EXPECT_EQ(counters.salu, 2 * (1 + 3 * 2 + 1u));
  EXPECT_EQ(counters.branch, 2 * 3u);
  EXPECT_EQ(counters.valu, 2 * 5u);
  EXPECT_EQ(counters.mfma, 2 * 1u);
  EXPECT_EQ(counters.lds, 2 * 2u);
  EXPECT_EQ(counters.vmem, 2 * 3u);
  EXPECT_EQ(counters.other, 2 * 2u);  // the wait and the end
  EXPECT_EQ(counters.instructions(), 2 * 25u);
  EXPECT_EQ(counters.memory_bytes_read, 2 * (8 + 5 * 4u));
  EXPECT_EQ(counters.memory_bytes_written, 2 * (5 * 8 + 5 * 4u));
  EXPECT_EQ(counters.lds_bytes_written, 2 * 5 * 4u);
  EXPECT_EQ(counters.lds_bytes_read, 2 * 5 * 8u);
  EXPECT_EQ(counters.lds_bank_conflicts, 2 * (4 + 4u));  // five lanes in one bank, or in one pair of banks
  EXPECT_EQ(counters.cache_lines, 1 + 5u);               // the arguments', and a line a lane for both
}
TEST_F(Launch, CountersDoNotDependOnThreadsOrSeed) {
  dispatch_.grid = {50, 1, 1};
  dispatch_.block = {256, 1, 1};
  Counters first;
  for (int threads : {1, 3}) {
    for (uint64_t seed : {0u, 5u}) {
      options_.threads = threads;
      options_.seed = seed;
      const Counters counters = run("s_mov_b32 s3, 1\n" + kStoreS3).counters;
      if (threads == 1 && seed == 0) first = counters;
      EXPECT_EQ(counters, first);
    }
  }
  EXPECT_EQ(first.waves, 200u);
  EXPECT_EQ(first.salu, 200u);
  EXPECT_EQ(first.valu, 400u);
  EXPECT_EQ(first.vmem, 200u);
  EXPECT_EQ(first.memory_bytes_written, 200u * 256u);
  EXPECT_EQ(first.memory_bytes_read, 200u * 8u);
  EXPECT_EQ(first.cache_lines, 8u + 1u);
}

TEST(Perturbation, MovesResultsByAtMostOneUlpAndRepeats) {
  const auto results = [](Transcendentals mode, uint64_t seed) {
    SingleWave wave;
    wave.options().transcendentals = mode;
    wave.options().transcendental_seed = seed;
    for (int lane = 0; lane < kLanes; ++lane)
      wave.v(1, lane) = std::bit_cast<uint32_t>(0.37f * static_cast<float>(lane + 1));
    wave.run("v_exp_f32_e32 v0, v1\nv_rcp_f32_e32 v2, v1");
    std::vector<uint32_t> all;
    for (unsigned reg : {0u, 2u})
      for (int lane = 0; lane < kLanes; ++lane) all.push_back(wave.v(reg, lane));
    return all;
  };
  const auto exact = results(Transcendentals::kCorrectlyRounded, 1),
             a = results(Transcendentals::kPerturbed, 1), b = results(Transcendentals::kPerturbed, 2);
  EXPECT_EQ(a, results(Transcendentals::kPerturbed, 1));
  EXPECT_NE(a, b);
  int moved[3] = {};
  for (size_t i = 0; i < exact.size(); ++i) {
    const auto step = static_cast<int32_t>(a[i] - exact[i]);
    ASSERT_LE(std::abs(step), 1);
    ++moved[step + 1];
  }
  for (int count : moved) EXPECT_GT(count, 20);
}

}  // namespace
}  // namespace mhcheck::simulator::testing
