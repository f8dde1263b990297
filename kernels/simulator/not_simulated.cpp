#include "kernels/simulator/not_simulated.h"

namespace mhcheck::simulator {
namespace {

constexpr std::string_view kTrapHandler = "belongs to trap handlers, and none runs here";
constexpr std::string_view kFork =
    "forks control flow on a stack in scalar registers, which compilers gave up before gfx9";
constexpr std::string_view kGlobalWaveSync =
    "synchronises workgroups through a resource that a driver has to allocate to the kernel first";

constexpr NotSimulated kRows[] = {
    {"s_rfe_b64", kTrapHandler},
    {"s_rfe_restore_b64", kTrapHandler},
    {"s_endpgm_saved", kTrapHandler},
    {"s_cbranch_g_fork", kFork},
    {"s_cbranch_i_fork", kFork},
    {"s_cbranch_join", kFork},
    {"ds_gws_init", kGlobalWaveSync},
    {"ds_gws_barrier", kGlobalWaveSync},
    {"ds_gws_sema_br", kGlobalWaveSync},
    {"ds_gws_sema_p", kGlobalWaveSync},
    {"ds_gws_sema_v", kGlobalWaveSync},
    {"ds_gws_sema_release_all", kGlobalWaveSync},
    {"s_setvskip", "makes the wave step over vector instructions, a way of branching that no compiler takes"},
    {"s_setkill", "asks the hardware to end the wave, which only context switches do"},
    {"s_sendmsghalt", "halts the wave until the host wakes it, and no host listens here"},
    {"s_endpgm_ordered_ps_done", "ends a pixel shader"},
    {"v_screen_partition_4se_b32",
     "divides a screen among shader engines, and its table is published nowhere"},
    {"v_mfma_ld_scale_b32", "is the first half of a scaled MFMA, without the other half behind it"},
};

}  // namespace

std::span<const NotSimulated> not_simulated() { return kRows; }

std::string_view why_not_simulated(std::string_view mnemonic) {
  for (const NotSimulated& row : kRows) {
    if (row.mnemonic == mnemonic) return row.reason;
  }
  return {};
}

}  // namespace mhcheck::simulator
