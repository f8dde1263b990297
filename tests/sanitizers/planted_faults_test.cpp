// Every kernel with a planted fault is found out, at the right line and by the right sanitizer; its repaired
// twin is silent under all of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "kernels/codeobject/code_object.h"
#include "kernels/runtime/sim_device.h"

namespace mhcheck::runtime {
namespace {

using simulator::BufferRole;
using simulator::Sanitizer;
using simulator::SanitizerFinding;
using simulator::SanitizerSet;

struct Planted {
  const char* kernel;
  Sanitizer sanitizer;
  std::uint64_t block;
  std::uint64_t out_floats;
  const char* what;         // a part of the statement
  const char* memory = "";  // a part of the place in memory
  std::uint64_t grid = 1;
  bool padded = false;  // `in` and `ws` hold 16 rows of 60 in allocations with rows of 64
};

constexpr Planted kPlanted[] = {
    {"load_past_end", Sanitizer::kBounds, 64, 64, "a load outside every allocation",
     "0 bytes past the end of in"},
    {"load_before_start", Sanitizer::kBounds, 64, 64, "a load outside every allocation", "4 bytes before in"},
    {"store_past_end", Sanitizer::kBounds, 64, 64, "a store outside every allocation",
     "0 bytes past the end of ws"},
    {"atomic_past_end", Sanitizer::kBounds, 64, 64, "a store outside every allocation", "past the end of ws"},
    {"scalar_load_past_end", Sanitizer::kBounds, 64, 64, "a scalar load outside",
     "0 bytes past the end of in"},
    {"lds_past_end", Sanitizer::kBounds, 64, 64, "LDS access beyond", "LDS byte 259 of 256"},
    {"scratch_past_end", Sanitizer::kBounds, 64, 64, "scratch access beyond", "scratch byte"},
    {"descriptor_too_long", Sanitizer::kBounds, 64, 64, "descriptor let pass", "0 bytes past the end of in"},
    {"vector_store_past_end", Sanitizer::kBounds, 64, 64, "descriptor let pass",
     "0 bytes past the end of ws"},
    {"typed_descriptor_too_long", Sanitizer::kBounds, 64, 64, "descriptor let pass",
     "0 bytes past the end of in"},
    {"scalar_scratch_past_end", Sanitizer::kBounds, 64, 64, "a scalar load outside",
     "0 bytes past the end of in"},
    {"transposed_read_past_end", Sanitizer::kBounds, 64, 64, "LDS access beyond", "LDS byte 1035 of 1024"},
    {"another_tensor", Sanitizer::kBounds, 64, 64, "in another tensor", "out[0]"},
    {"scalar_store_past_end", Sanitizer::kBounds, 64, 64, "a scalar store outside",
     "0 bytes past the end of ws"},
    {"scalar_scratch_store_past_end", Sanitizer::kBounds, 64, 64, "a scalar store outside",
     "0 bytes past the end of ws"},
    {"scalar_atomic_past_end", Sanitizer::kBounds, 64, 64, "a scalar store outside",
     "past the end of counter"},
    {"scalar_buffer_too_long", Sanitizer::kBounds, 64, 64, "descriptor let pass",
     "0 bytes past the end of ws"},
    {"scalar_load_in_another_tensor", Sanitizer::kBounds, 64, 64, "in another tensor", "counter[0]"},
    {"tail_lane_reads_padding", Sanitizer::kBounds, 64, 64, "a load from the padding", "in[3, 60]", 1, true},
    {"vector_load_reads_padding", Sanitizer::kBounds, 64, 64, "a load from the padding", "in[0, 60]", 1,
     true},
    {"scalar_load_reads_padding", Sanitizer::kBounds, 64, 64, "a load from the padding", "in[0, 60]", 1,
     true},
    {"tail_lane_stores_padding", Sanitizer::kBounds, 64, 64, "a store to the padding", "ws[1, 60]", 1, true},
    {"load_to_lds_past_end", Sanitizer::kBounds, 64, 64, "LDS access beyond", "LDS byte 259 of 256"},

    {"input_written", Sanitizer::kWrites, 64, 64, "an input is written", "in[0] (byte 0 of 4096)"},
    {"typed_store_to_input", Sanitizer::kWrites, 64, 64, "an input is written", "in[0]"},
    {"input_changed_by_atomic", Sanitizer::kWrites, 64, 64, "an input is written", "in[0]"},
    {"element_from_two_waves", Sanitizer::kWrites, 128, 64, "two waves write the same output element",
     "out[0]"},
    {"sum_of_another_wave", Sanitizer::kWrites, 128, 2, "two waves write the same output element", "out[0]"},
    {"next_row_overwritten", Sanitizer::kWrites, 128, 3, "two waves write the same output element", "out[1]"},
    {"last_element_unwritten", Sanitizer::kWrites, 64, 64, "that no wave has written (4 bytes)", "out[63]"},
    {"tail_unwritten", Sanitizer::kWrites, 64, 100, "that no wave has written (16 bytes)", "out[96]"},
    {"half_of_an_element_unwritten", Sanitizer::kWrites, 64, 64, "that no wave has written (2 bytes)",
     "out[17]"},
    {"input_written_by_scalar_store", Sanitizer::kWrites, 64, 64, "an input is written", "in[0]"},
    {"input_changed_by_scalar_atomic", Sanitizer::kWrites, 64, 64, "an input is written", "in[0]"},
    {"scalar_element_from_two_waves", Sanitizer::kWrites, 128, 2, "two waves write the same output element",
     "out[0]"},
    {"half_of_another_wave", Sanitizer::kWrites, 128, 1, "two waves write the same output element", "out[0]"},
    {"odd_row_one_too_long", Sanitizer::kWrites, 128, 33, "two waves write the same output element",
     "out[16]"},

    {"lds_without_barrier", Sanitizer::kRace, 128, 128, "nothing orders them", "LDS byte"},
    {"tile_refilled_too_early", Sanitizer::kRace, 128, 128, "overwrites what another one reads", "LDS byte"},
    {"lds_written_by_two_waves", Sanitizer::kRace, 128, 128, "two waves write the same bytes", "LDS byte 0"},
    {"global_between_waves", Sanitizer::kRace, 128, 128, "nothing orders them", "ws["},
    {"global_between_workgroups", Sanitizer::kRace, 64, 128, "reads what another one writes", "ws[0]", 2},
    {"barrier_without_wait", Sanitizer::kRace, 128, 128, "reads what another one writes", "LDS byte"},
    {"counter_without_fence", Sanitizer::kRace, 64, 2, "reads what another one writes", "ws[0]", 2},
    {"load_to_lds_of_another_wave", Sanitizer::kRace, 128, 128, "nothing orders them", "LDS byte"},
    {"scalar_store_not_written_back", Sanitizer::kRace, 128, 128, "reads what another one writes", "ws[0]"},
    {"scalar_load_overwritten", Sanitizer::kRace, 128, 128, "overwrites what another one reads", "ws[64]"},
    {"counted_before_stored", Sanitizer::kRace, 128, 64, "nothing orders them", "LDS byte"},
    {"flag_without_release", Sanitizer::kRace, 64, 1, "reads what another one writes", "ws[0]", 2},
    {"counted_after_a_barrier", Sanitizer::kRace, 128, 2, "reads what another one writes", "ws[1]", 2},
    {"flag_between_waves", Sanitizer::kRace, 128, 64, "nothing orders them", "ws["},
    {"update_beside_the_lock", Sanitizer::kRace, 64, 2, "two waves write the same bytes", "ws[0]", 2},
    {"sum_without_atomics", Sanitizer::kRace, 64, 128, "nothing orders them", "counter[0]", 2},
    {"second_tile_filled_early", Sanitizer::kRace, 128, 128, "overwrites what another one reads", "LDS byte"},
    {"one_of_three_readers", Sanitizer::kRace, 192, 192, "overwrites what another one reads", "LDS byte"},
    {"wrong_half_of_a_dword", Sanitizer::kRace, 128, 128, "reads what another one writes", "LDS byte 0"},
    {"half_stored_by_a_third", Sanitizer::kRace, 192, 192, "reads what another one writes", "ws[0]"},

    {"read_before_vmcnt", Sanitizer::kWait, 64, 64, "a register is read before"},
    {"count_too_high", Sanitizer::kWait, 64, 64, "a register is read before"},
    {"lds_read_before_lgkmcnt", Sanitizer::kWait, 64, 64, "a register is read before"},
    {"scalar_loads_counted", Sanitizer::kWait, 64, 64, "a register is read before"},
    {"register_overwritten", Sanitizer::kWait, 64, 64, "a register is overwritten before"},
    {"stored_before_arrival", Sanitizer::kWait, 64, 64, "a register is read before"},
    {"lds_before_vmcnt", Sanitizer::kWait, 64, 64, "LDS is read before", "LDS byte 0"},
    {"typed_load_before_vmcnt", Sanitizer::kWait, 64, 64, "a register is read before"},
    {"wrong_counter", Sanitizer::kWait, 64, 64, "a register is read before"},
    {"store_before_the_load", Sanitizer::kWait, 64, 64, "a register is read before"},
    {"scalar_load_counted_with_lds", Sanitizer::kWait, 64, 64, "a register is read before"},
    {"buffer_load_to_lds_before_vmcnt", Sanitizer::kWait, 64, 64, "LDS is read before", "LDS byte 0"},
    {"lds_written_under_a_load", Sanitizer::kWait, 64, 64, "LDS is overwritten before", "LDS byte 0"},
    {"lanes_of_the_load_overwritten", Sanitizer::kWait, 64, 64, "a register is overwritten before"},
    {"offset_before_lgkmcnt", Sanitizer::kWait, 64, 64, "a register is read before"},
    {"flat_waits_for_one_counter", Sanitizer::kWait, 64, 64, "a register is read before"},
    {"scalar_atomic_before_lgkmcnt", Sanitizer::kWait, 64, 64, "a register is read before"},
    {"scalar_store_left_behind", Sanitizer::kWait, 64, 64,
     "no s_dcache_wb has written its scalar store back"},
    {"scale_before_vmcnt", Sanitizer::kWait, 64, 64, "a register is read before"},

    {"register_never_written", Sanitizer::kUninit, 64, 64, "a store writes bits", "out[0]"},
    {"lds_never_written", Sanitizer::kUninit, 64, 64, "a store writes bits", "out[32]"},
    {"workspace_never_written", Sanitizer::kUninit, 64, 64, "a store writes bits", "out[5]"},
    {"scratch_never_written", Sanitizer::kUninit, 64, 64, "a store writes bits", "out[7]"},
    {"typed_element_never_written", Sanitizer::kUninit, 64, 64, "a store writes bits", "out[9]"},
    {"typed_store_of_nothing", Sanitizer::kUninit, 64, 64, "a store writes bits", "out[0]"},
    {"tuple_element_never_written", Sanitizer::kUninit, 64, 64, "a store writes bits", "out[0]"},
    {"transposed_element_never_written", Sanitizer::kUninit, 64, 64, "a store writes bits", "out[0]"},
    {"scratch_to_lds_never_written", Sanitizer::kUninit, 64, 64, "a store writes bits", "out[7]"},
    {"address_never_written", Sanitizer::kUninit, 64, 64, "an address has bits"},
    {"branch_on_nothing", Sanitizer::kUninit, 64, 64, "a branch depends on bits"},
    {"exec_from_nothing", Sanitizer::kUninit, 64, 64, "EXEC gets bits"},
    {"half_never_written", Sanitizer::kUninit, 64, 64, "a store writes bits", "out[0]"},
    {"matrix_operand_never_written", Sanitizer::kUninit, 64, 64, "a store writes bits", "out[16]"},
    {"branch_on_an_undefined_lane", Sanitizer::kUninit, 64, 64, "a branch depends on bits"},
    {"high_half_from_nothing", Sanitizer::kUninit, 64, 64, "a store writes bits", "out[0]"},
    {"sdwa_picks_the_undefined_half", Sanitizer::kUninit, 64, 64, "a store writes bits", "out[0]"},
    {"upper_half_of_a_sum", Sanitizer::kUninit, 64, 64, "a store writes bits", "out[0]"},
    {"mask_one_bit_too_wide", Sanitizer::kUninit, 64, 64, "a store writes bits", "out[0]"},
    {"undefined_through_lds", Sanitizer::kUninit, 64, 64, "a store writes bits", "out[0]"},
    {"undefined_through_scratch", Sanitizer::kUninit, 64, 64, "a store writes bits", "out[0]"},
    {"readlane_of_nothing", Sanitizer::kUninit, 64, 64, "a store writes bits", "out[0]"},
    {"half_of_an_lds_dword", Sanitizer::kUninit, 64, 64, "a store writes bits", "out[0]"},
    {"scalar_store_of_nothing", Sanitizer::kUninit, 64, 64, "a store writes bits", "ws[0]"},
    {"scalar_atomic_of_nothing", Sanitizer::kUninit, 64, 64, "a store writes bits", "counter[0]"},
    {"last_of_four_scalar_dwords", Sanitizer::kUninit, 64, 64, "a store writes bits", "out[0]"},

    {"sum_in_a_branch", Sanitizer::kCrossLane, 64, 64, "from an inactive lane", "out[0]"},
    {"half_a_wave", Sanitizer::kCrossLane, 96, 96, "from an inactive lane", "out[64]"},
    {"swizzle_in_a_branch", Sanitizer::kCrossLane, 64, 64, "from an inactive lane", "out[32]"},
    {"dpp_in_a_branch", Sanitizer::kCrossLane, 64, 64, "(DPP) takes a value from an inactive lane", "out[0]"},
    {"readlane_of_an_idle_lane", Sanitizer::kCrossLane, 64, 64, "v_readlane takes", "out[0]"},
    {"outside_the_wave", Sanitizer::kCrossLane, 64, 64, "outside the wave", "out[63]"},
    {"swap_in_a_branch", Sanitizer::kCrossLane, 64, 64, "(swap) takes a value from an inactive lane",
     "out[32]"},
    {"address_from_an_idle_lane", Sanitizer::kCrossLane, 64, 64, "from an inactive lane"},
    {"lanes_that_nobody_sends_to", Sanitizer::kCrossLane, 64, 64, "no active lane has sent", "out[32]"},
    {"shift_from_an_idle_lane", Sanitizer::kCrossLane, 64, 64, "(DPP) takes a value from an inactive lane",
     "out[2]"},
    {"shift_keeps_the_old_value", Sanitizer::kCrossLane, 64, 64, "(DPP) takes a value from an inactive lane",
     "out[2]"},
    {"one_lane_too_many_uses_it", Sanitizer::kCrossLane, 64, 64, "from an inactive lane", "out["},
    {"mask_lets_a_lane_through", Sanitizer::kCrossLane, 64, 64, "from an inactive lane", "out["},
    {"lane_that_never_wrote", Sanitizer::kCrossLane, 64, 64, "that never wrote the register", "out[0]"},
    {"readlane_of_a_register_never_written", Sanitizer::kCrossLane, 64, 64, "that never wrote the register",
     "out[0]"},
    {"first_of_no_lanes", Sanitizer::kCrossLane, 64, 64, "v_readfirstlane with no active lane", "out[0]"},
    {"half_beside_a_good_one", Sanitizer::kCrossLane, 64, 64, "from an inactive lane", "out[0]"},

    {"barrier_of_one_wave", Sanitizer::kBarrier, 128, 128, "has ended while others"},
    {"a_barrier_for_each", Sanitizer::kBarrier, 128, 128, "different barriers"},
    {"one_round_more", Sanitizer::kBarrier, 128, 128, "has ended while others"},
    {"early_return", Sanitizer::kBarrier, 128, 128, "has ended while others"},
    {"skipped_barrier", Sanitizer::kBarrier, 128, 128, "different barriers"},
    {"barrier_by_data", Sanitizer::kBarrier, 128, 128, "has ended while others"},
    {"last_of_four", Sanitizer::kBarrier, 256, 256, "different barriers"},
    {"tail_returns_early", Sanitizer::kBarrier, 128, 128, "has ended while others"},
    {"barrier_in_one_half_of_a_branch", Sanitizer::kBarrier, 192, 192, "has ended while others"},
};

std::string file_of(Sanitizer sanitizer) { return std::string(simulator::row_of(sanitizer).name); }

// The line behind "// fault: NAME"; "" where there is none, since elements nobody wrote have no line.
std::string fault_line(const Planted& planted) {
  const std::string name = file_of(planted.sanitizer) + ".hip";
  std::ifstream source(std::string(SANITIZER_KERNELS) + "/" + name);
  std::string line;
  for (int number = 1; std::getline(source, line); ++number) {
    if (line.ends_with(std::string("// fault: ") + planted.kernel))
      return name + ":" + std::to_string(number + 1);
  }
  return {};
}

Buffer tensor(Device& device, const std::string& name, std::uint64_t floats, BufferRole role,
              bool padded = false) {
  Buffer buffer = device.allocate(floats * sizeof(float), name);
  simulator::BufferUse use{.role = role, .element_bytes = sizeof(float)};
  if (padded) {
    use.extents = {16, 64};
    use.tensor = {16, 60};
  }
  device.declare(buffer, use);
  if (role == BufferRole::kWorkspace) return buffer;
  std::vector<float> values(floats, 0.0f);
  if (role == BufferRole::kInput) {
    for (std::size_t i = 0; i < floats; ++i) values[i] = static_cast<float>(i) + 0.5f;
  }
  device.upload(buffer, std::as_bytes(std::span(values)));
  return buffer;
}

std::vector<SanitizerFinding> run(const Planted& planted, const std::string& suffix, SanitizerSet sanitizers,
                                  std::uint64_t schedule = 0) {
  const auto device = open_sim();
  device->instrument({.sanitizers = sanitizers, .schedule = schedule});
  const std::string object =
      std::string(SANITIZER_OBJECTS) + "/" + file_of(planted.sanitizer) + suffix + ".hsaco";
  const auto module = device->load(codeobject::read_file(object), object);
  const Buffer in = tensor(*device, "in", 1024, BufferRole::kInput, planted.padded);
  const Buffer out = tensor(*device, "out", planted.out_floats, BufferRole::kOutput);
  const Buffer ws = tensor(*device, "ws", 1024, BufferRole::kWorkspace, planted.padded);
  const Buffer counter = tensor(*device, "counter", 1, BufferRole::kUnknown);
  device->launch(module->find_kernel(planted.kernel),
                 {.grid = {planted.grid, 1, 1}, .block = {planted.block, 1, 1}, .dynamic_lds_bytes = 0},
                 std::vector<ArgumentValue>{ArgumentValue(in.address()), ArgumentValue(out.address()),
                                            ArgumentValue(ws.address()), ArgumentValue(counter.address())});
  device->wait();
  return device->findings();
}

std::string all_of(const std::vector<SanitizerFinding>& findings) {
  std::string text;
  for (const SanitizerFinding& finding : findings) text += to_string(finding) + "\n";
  return text;
}

class PlantedFault : public testing::TestWithParam<Planted> {};
INSTANTIATE_TEST_SUITE_P(Kernels, PlantedFault, testing::ValuesIn(kPlanted),
                         [](const auto& row) { return std::string(row.param.kernel); });

TEST_P(PlantedFault, IsFoundByItsSanitizerAtItsLine) {
  const Planted& planted = GetParam();
  SanitizerSet one;
  one.add(planted.sanitizer);
  const std::string line = fault_line(planted);
  for (const SanitizerSet& set : {one, SanitizerSet::all()}) {
    const std::vector<SanitizerFinding> findings = run(planted, "", set);
    bool found = false;
    for (const SanitizerFinding& finding : findings) {
      if (set == one) {
        EXPECT_EQ(finding.sanitizer, planted.sanitizer) << to_string(finding);
      }
      const auto at_line = [&](const std::optional<simulator::FindingPlace>& place) {
        return place && (place->source + " ").find(line + " ") != std::string::npos;
      };
      const bool right_place =
          line.empty() ? !finding.place : at_line(finding.place) || at_line(finding.other);
      found |= finding.sanitizer == planted.sanitizer && right_place &&
               finding.what.find(planted.what) != std::string::npos &&
               finding.memory.find(planted.memory) != std::string::npos;
    }
    EXPECT_TRUE(found) << "expected " << planted.what << " at " << line << ", got\n" << all_of(findings);
  }
}

TEST_P(PlantedFault, RepairedTwinIsSilentUnderAllSanitizersAndSchedules) {
  for (const std::uint64_t schedule : {0, 1, 2}) {
    EXPECT_EQ(all_of(run(GetParam(), "_repaired", SanitizerSet::all(), schedule)), "")
        << "schedule " << schedule;
  }
}

}  // namespace
}  // namespace mhcheck::runtime
