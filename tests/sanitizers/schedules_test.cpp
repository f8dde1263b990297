// Interleaving seeds: results that depend on the order of waves or workgroups differ between them, others do
// not.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "kernels/codeobject/code_object.h"
#include "kernels/runtime/sim_device.h"

namespace mhcheck::runtime {
namespace {

constexpr std::uint64_t kWorkgroups = 4, kWaves = 4, kSchedules = 3;

std::vector<float> run(const std::string& kernel, const std::string& suffix, std::uint64_t schedule) {
  const auto device = open_sim();
  device->instrument({.sanitizers = {}, .schedule = schedule});
  const std::string object = std::string(SANITIZER_OBJECTS) + "/schedules" + suffix + ".hsaco";
  const auto module = device->load(codeobject::read_file(object), object);
  std::vector<float> values(kWorkgroups);
  const Buffer out = device->allocate(values.size() * sizeof(float), "out");
  device->upload(out, std::as_bytes(std::span(values)));
  const ArgumentValue none(std::uint64_t{0});
  device->launch(module->find_kernel(kernel),
                 {.grid = {kWorkgroups, 1, 1}, .block = {64 * kWaves, 1, 1}, .dynamic_lds_bytes = 0},
                 std::vector<ArgumentValue>{none, ArgumentValue(out.address()), none, none});
  device->download(out, std::as_writable_bytes(std::span(values)));
  return values;
}

std::set<std::vector<float>> results(const std::string& kernel, const std::string& suffix) {
  std::set<std::vector<float>> all;
  for (std::uint64_t schedule = 0; schedule <= kSchedules; ++schedule)
    all.insert(run(kernel, suffix, schedule));
  return all;
}

class Schedules : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Kernels, Schedules,
                         testing::Values("float_sum_in_any_order", "last_workgroup_wins", "last_wave_wins"),
                         [](const auto& row) { return std::string(row.param); });

TEST_P(Schedules, ShowWhatDependsOnTheOrder) { EXPECT_GT(results(GetParam(), "").size(), 1u); }
TEST_P(Schedules, LeaveTheRepairedTwinAlone) { EXPECT_EQ(results(GetParam(), "_repaired").size(), 1u); }

TEST(SchedulesOfOneSeed, RepeatThemselves) {
  for (std::uint64_t schedule = 0; schedule <= kSchedules; ++schedule)
    EXPECT_EQ(run("float_sum_in_any_order", "", schedule), run("float_sum_in_any_order", "", schedule));
}

}  // namespace
}  // namespace mhcheck::runtime
