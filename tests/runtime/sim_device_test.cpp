#include "kernels/runtime/sim_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "kernels/codeobject/code_object.h"
#include "kernels/codeobject/error.h"
#include "kernels/runtime/open_device.h"

namespace mhcheck::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<Module> load(Device& device, const std::string& folder, const std::string& name) {
  return device.load(codeobject::read_file(folder + "/" + name), name);
}
std::unique_ptr<Module> load_probe(Device& device, const std::string& name) {
  return load(device, MHCHECK_RUNTIME_OBJECTS, name);
}

template <class Element>
Buffer upload(Device& device, const std::vector<Element>& values, const std::string& name) {
  Buffer buffer = device.allocate(values.size() * sizeof(Element), name);
  device.upload(buffer, std::as_bytes(std::span(values)));
  return buffer;
}
template <class Element>
std::vector<Element> download(Device& device, const Buffer& buffer) {
  std::vector<Element> values(buffer.size() / sizeof(Element));
  device.download(buffer, std::as_writable_bytes(std::span(values)));
  return values;
}

class SimDevice : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Device> device = open_sim();
};
INSTANTIATE_TEST_SUITE_P(EveryCompilation, SimDevice,
                         testing::Values("probe_O0.hsaco", "probe_O3.hsaco", "probe_preload.hsaco"),
                         [](const auto& row) {
                           const std::string name = row.param;
                           return name.substr(6, name.find('.') - 6);
                         });

TEST_P(SimDevice, KernelsSeeTheirWholeLaunch) {
  const auto module = load_probe(*device, GetParam());
  const Geometry geometry{.grid = {3, 2, 4}, .block = {5, 6, 7}, .dynamic_lds_bytes = 64};
  const Buffer out = upload(*device, std::vector<std::uint32_t>(24 * 16), "out");
  device->launch(module->find_kernel("report_launch"), geometry,
                 std::vector<ArgumentValue>{ArgumentValue(out.address()), ArgumentValue(std::uint8_t{200}),
                                            ArgumentValue(1234.75), ArgumentValue(std::int16_t{-2})});
  const Counters counters = device->wait();
  const auto rows = download<std::uint32_t>(*device, out);
  for (unsigned z = 0; z < 4; ++z) {
    for (unsigned y = 0; y < 2; ++y) {
      for (unsigned x = 0; x < 3; ++x) {
        const auto first = rows.begin() + 16 * (x + 3 * (y + 2 * z));
        EXPECT_THAT(std::vector<std::uint32_t>(first, first + 16),
                    ElementsAre(3, 2, 4, 5, 6, 7, x, y, z, 4, 5, 6, 200, 1234, 65534, 77));
      }
    }
  }
  EXPECT_EQ(counters.at("workgroups"), 24u);
  EXPECT_EQ(counters.at("waves"), 24u * 4);  // 210 work-items
  EXPECT_GT(counters.at("memory_bytes_written"), 24u * 16 * 4 - 1);
  EXPECT_EQ(device->wait(), Counters{}) << "counters are handed out once";
}

// What the compiler adds around the assembly is little beside it.
TEST_P(SimDevice, CountersHaveTheNamesOfWhatTheyCount) {
  const auto module = load_probe(*device, GetParam());
  const Buffer out = upload(*device, std::vector<std::uint32_t>(64), "out");
  device->launch(module->find_kernel("count_classes"), {.grid = {1, 1, 1}, .block = {64, 1, 1}},
                 std::vector<ArgumentValue>{ArgumentValue(out.address())});
  const Counters counters = device->wait();
  const std::pair<const char*, std::uint64_t> expected[] = {{"valu", 100},
                                                            {"salu", 200},
                                                            {"other", 300},
                                                            {"branch", 400},
                                                            {"smem", 500},
                                                            {"mfma", 600},
                                                            {"vmem", 700 + 800},
                                                            {"lds", 900 + 1000},
                                                            {"memory_bytes_read", 700 * 256},
                                                            {"memory_bytes_written", 800 * 256},
                                                            {"lds_bytes_read", 900 * 256},
                                                            {"lds_bytes_written", 1000 * 512},
                                                            {"lds_bank_conflicts", 900 * 1},
                                                            {"instructions", 5500}};
  for (const auto& [name, count] : expected) {
    const std::uint64_t around = name == std::string("instructions") ? 200 : 60;
    const std::uint64_t slack = std::string(name).find("bytes") == std::string::npos ? around : 16 * 256;
    EXPECT_GE(counters.at(name), count) << name;
    EXPECT_LT(counters.at(name), count + slack) << name;
  }
  EXPECT_EQ(counters.at("waves"), 1u);
  EXPECT_GE(counters.at("cache_lines"), 2u);
  EXPECT_LT(counters.at("cache_lines"), 8u);
}

TEST_P(SimDevice, TheDispatchPacketDescribesTheLaunch) {
  const auto module = load_probe(*device, GetParam());
  const Buffer out = upload(*device, std::vector<std::uint32_t>(16), "out");
  device->launch(module->find_kernel("report_packet"),
                 {.grid = {3, 1, 1}, .block = {64, 2, 1}, .dynamic_lds_bytes = 0},
                 std::vector<ArgumentValue>{ArgumentValue(out.address())});
  device->wait();
  const auto packet = download<std::uint32_t>(*device, out);
  EXPECT_EQ(packet[1] & 0xffff, 64u);  // workgroup_size_x
  EXPECT_EQ(packet[1] >> 16, 2u);      // workgroup_size_y
  EXPECT_EQ(packet[2] & 0xffff, 1u);
  EXPECT_THAT(std::vector<std::uint32_t>(packet.begin() + 3, packet.begin() + 6), ElementsAre(192, 2, 1));
}

TEST_P(SimDevice, PartialWavesAndScratchWork) {
  const auto module = load_probe(*device, GetParam());
  std::vector<std::int32_t> values(100 * 32);
  std::iota(values.begin(), values.end(), 0);
  const Buffer buffer = upload(*device, values, "values");
  device->launch(module->find_kernel("scratch_reverse"),
                 {.grid = {1, 1, 1}, .block = {100, 1, 1}, .dynamic_lds_bytes = 0},
                 std::vector<ArgumentValue>{ArgumentValue(buffer.address())});
  device->launch(
      module->find_kernel("add_one"), {.grid = {50, 1, 1}, .block = {64, 1, 1}, .dynamic_lds_bytes = 0},
      std::vector<ArgumentValue>{ArgumentValue(buffer.address()), ArgumentValue(std::int32_t{3199})});
  device->wait();
  const auto result = download<std::int32_t>(*device, buffer);
  for (int i = 0; i < 3200; ++i) {
    ASSERT_EQ(result[static_cast<std::size_t>(i)], i / 32 * 32 + 31 - i % 32 + (i < 3199 ? 1 : 0)) << i;
  }
}

std::pair<Failure, std::string> failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const DeviceError& error) {
    return {error.kind(), error.what()};
  }
  throw std::runtime_error("nothing failed");
}

TEST_P(SimDevice, BadEndsAreTypedFailuresAndTheDeviceLivesOn) {
  simulator::Options options;
  options.instruction_budget = 20'000;
  device = open_sim(options);
  const auto module = load_probe(*device, GetParam());
  const Buffer buffer = upload(*device, std::vector<std::int32_t>(8), "eight ints");
  const auto run = [&](const char* kernel, std::vector<ArgumentValue> arguments) {
    device->launch(module->find_kernel(kernel), {}, arguments);
    device->wait();
  };
  const auto past_end = failure_of([&] {
    run("write_past_end", {ArgumentValue(buffer.address()), ArgumentValue(std::int32_t{8})});
  });
  EXPECT_EQ(past_end.first, Failure::kFault);
  EXPECT_THAT(past_end.second, AllOf(HasSubstr("write_past_end"), HasSubstr("eight ints")));

  const auto endless = failure_of([&] { run("never_ends", {ArgumentValue(buffer.address())}); });
  EXPECT_EQ(endless.first, Failure::kBudget);
  EXPECT_THAT(endless.second, HasSubstr("never_ends"));

  EXPECT_EQ(failure_of([&] { run("trap", {ArgumentValue(buffer.address())}); }).first, Failure::kFault);

  run("add_one", {ArgumentValue(buffer.address()), ArgumentValue(std::int32_t{8})});
  EXPECT_THAT(download<std::int32_t>(*device, buffer), ElementsAre(1, 0, 0, 0, 0, 0, 0, 0));
}

TEST(SimLaunch, ImpossibleLaunchesSayWhy) {
  const auto device = open_sim();
  const auto probe = load_probe(*device, "probe_O3.hsaco");
  const auto scale = load(*device, MHCHECK_TEST_OBJECTS, "scale_O3.hsaco");
  const Buffer buffer = upload(*device, std::vector<std::int32_t>(256), "values");
  const std::vector<ArgumentValue> good = {ArgumentValue(buffer.address()), ArgumentValue(std::int32_t{1})};
  const auto refusal = [&](const Geometry& geometry, const std::vector<ArgumentValue>& arguments,
                           const Kernel& kernel) {
    const auto [kind, message] = failure_of([&] { device->launch(kernel, geometry, arguments); });
    EXPECT_EQ(kind, Failure::kBadLaunch);
    return message;
  };
  const Kernel& add_one = probe->find_kernel("add_one");
  EXPECT_EQ(refusal({.grid = {0, 1, 1}, .block = {1, 1, 1}, .dynamic_lds_bytes = 0}, good, add_one),
            "add_one: grid.x is 0, must be 1 to 2147483647");
  EXPECT_EQ(refusal({.grid = {1, 70000, 1}, .block = {1, 1, 1}, .dynamic_lds_bytes = 0}, good, add_one),
            "add_one: grid.y is 70000, must be 1 to 65535");
  EXPECT_THAT(refusal({.grid = {1 << 24, 1, 1}, .block = {256, 1, 1}, .dynamic_lds_bytes = 0}, good, add_one),
              HasSubstr("is 4294967296 work-items, must be below 2^32"));
  EXPECT_THAT(refusal({.grid = {1, 1, 1}, .block = {64, 32, 1}, .dynamic_lds_bytes = 0}, good, add_one),
              HasSubstr("a block of 2048 work-items"));
  EXPECT_THAT(refusal({.grid = {1, 1, 1}, .block = {1, 1, 1}, .dynamic_lds_bytes = 200000}, good, add_one),
              HasSubstr("200000 bytes of dynamic LDS"));
  EXPECT_EQ(refusal({}, {ArgumentValue(buffer.address())}, add_one),
            "add_one: 1 arguments given, the kernel takes 2 of 8, 4 bytes");
  EXPECT_EQ(refusal({}, {ArgumentValue(buffer.address()), ArgumentValue(std::int64_t{1})}, add_one),
            "add_one: argument 1 has 8 bytes, the kernel takes 4 there");
  const Kernel& bounded = scale->find_kernel("reverse_in_lds");
  const std::vector<ArgumentValue> two_words = {ArgumentValue(buffer.address()),
                                                ArgumentValue(std::int64_t{1})};
  EXPECT_THAT(refusal({.grid = {1, 1, 1}, .block = {512, 1, 1}, .dynamic_lds_bytes = 0}, two_words, bounded),
              HasSubstr("compiled for at most 256"));
  EXPECT_THAT(
      refusal({.grid = {1, 1, 1}, .block = {256, 1, 1}, .dynamic_lds_bytes = 163840}, two_words, bounded),
      HasSubstr("1024 bytes of static and 163840 of dynamic LDS"));
}

TEST(SimLaunch, StaticAndDynamicLdsLieSideBySide) {
  const auto device = open_sim();
  for (const char* name : {"scale_O0.hsaco", "scale_O3.hsaco"}) {
    const auto module = load(*device, MHCHECK_TEST_OBJECTS, name);
    std::vector<std::int32_t> values(256);
    std::iota(values.begin(), values.end(), 0);
    const Buffer buffer = upload(*device, values, "values");
    device->launch(
        module->find_kernel("reverse_in_lds"),
        {.grid = {1, 1, 1}, .block = {256, 1, 1}, .dynamic_lds_bytes = 1024},
        std::vector<ArgumentValue>{ArgumentValue(buffer.address()), ArgumentValue(std::int64_t{1000})});
    device->wait();
    const auto result = download<std::int32_t>(*device, buffer);
    for (int i = 0; i < 256; ++i) ASSERT_EQ(result[static_cast<std::size_t>(i)], 1255 - i);
  }
}

TEST(SimLaunch, RelocatedGlobalsKeepTheirStateBetweenLaunches) {
  const auto device = open_sim();
  const auto module = load(*device, MHCHECK_TEST_OBJECTS, "globals.hsaco");
  const Buffer out = upload(*device, std::vector<std::int32_t>(2, -1), "out");
  const auto follow = [&](std::int32_t step) {
    device->launch(module->find_kernel("follow"), {},
                   std::vector<ArgumentValue>{ArgumentValue(out.address()), ArgumentValue(step)});
    device->wait();
    return download<std::int32_t>(*device, out);
  };
  EXPECT_THAT(follow(0), ElementsAre(3, 0));
  EXPECT_THAT(follow(-2), ElementsAre(1, 0));
  EXPECT_THAT(follow(1), ElementsAre(2, 0));
}

TEST(SimLaunch, ASharedLibraryBringsTheKernelsOfAllItsUnits) {
  const auto device = open_sim();
  for (const char* name : {"plain.so", "compressed.so"}) {
    const auto module = load(*device, MHCHECK_TEST_OBJECTS, name);
    const Buffer out = upload(*device, std::vector<std::int32_t>(64), "out");
    device->launch(module->find_kernel("second_unit"),
                   {.grid = {1, 1, 1}, .block = {64, 1, 1}, .dynamic_lds_bytes = 0},
                   std::vector<ArgumentValue>{ArgumentValue(out.address())});
    device->wait();
    EXPECT_THAT(download<std::int32_t>(*device, out), testing::Each(2));
    EXPECT_THROW(module->find_kernel("*_unit"), codeobject::CodeObjectError);
  }
}

TEST(SimLaunch, BuffersHaveExactlyTheirSize) {
  const auto device = open_sim();
  const Buffer empty = device->allocate(0, "empty");
  const Buffer one = device->allocate(1, "one");
  EXPECT_NE(empty.address(), one.address());
  EXPECT_EQ(one.address() % 256, 0u);
  EXPECT_EQ(device->guard_damage(one), "");
}

TEST(OpenDevice, KnowsItsProvidersByName) {
  std::vector<std::string_view> names;
  for (const Provider& provider : providers()) names.push_back(provider.name);
  EXPECT_THAT(names, ElementsAre("sim", "hip", "cuda"));
  EXPECT_EQ(open_device("sim")->properties().target, "gfx950");
  EXPECT_EQ(failure_of([] { open_device("tpu"); }).second,
            "there is no device named \"tpu\", must be one of: sim, hip, cuda");
}

}  // namespace
}  // namespace mhcheck::runtime
