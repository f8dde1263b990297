// The vendors' providers, without their GPUs: what they say when something is missing, and how they use the
// runtime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "kernels/codeobject/code_object.h"
#include "kernels/runtime/cuda_device.h"
#include "kernels/runtime/hip_device.h"

namespace mhcheck::runtime {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

std::pair<Failure, std::string> failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const DeviceError& error) {
    return {error.kind(), error.what()};
  }
  throw std::runtime_error("nothing failed");
}

TEST(MissingLibrary, IsNamedWithWhatToInstall) {
  const auto [hip_kind, hip] = failure_of([] {
    HipOptions options;
    options.libraries = {"libno_such_hip.so.7", "libno_such_hip.so"};
    open_hip(options);
  });
  EXPECT_EQ(hip_kind, Failure::kUnavailable);
  EXPECT_THAT(hip,
              AllOf(HasSubstr("cannot open libno_such_hip.so.7 or libno_such_hip.so"), HasSubstr("install")));
  const auto [cuda_kind, cuda] = failure_of([] {
    CudaOptions options;
    options.libraries = {"libno_such_cuda.so.1"};
    open_cuda(options);
  });
  EXPECT_EQ(cuda_kind, Failure::kUnavailable);
  EXPECT_THAT(cuda,
              AllOf(HasSubstr("cannot open libno_such_cuda.so.1"), HasSubstr("install an NVIDIA driver")));
}

TEST(MissingLibrary, AnotherLibraryOfThatNameIsNotTaken) {
  CudaOptions options;
  options.libraries = {MHCHECK_FAKE_HIP};
  const auto [kind, message] = failure_of([&] { open_cuda(options); });
  EXPECT_EQ(kind, Failure::kUnavailable);
  EXPECT_THAT(message, HasSubstr("has no function cuInit"));
}

class FakeHip : public testing::Test {
 protected:
  static HipOptions options() {
    HipOptions fake;
    fake.libraries = {MHCHECK_FAKE_HIP};
    fake.patience = std::chrono::milliseconds(50);
    return fake;
  }
  Buffer ints(std::size_t count) {
    const std::vector<std::int32_t> zeros(count);
    Buffer buffer = device->allocate(count * 4, "ints");
    device->upload(buffer, std::as_bytes(std::span(zeros)));
    return buffer;
  }
  std::vector<std::int32_t> content(const Buffer& buffer) {
    std::vector<std::int32_t> values(buffer.size() / 4);
    device->download(buffer, std::as_writable_bytes(std::span(values)));
    return values;
  }
  void run(const char* kernel, const std::vector<ArgumentValue>& arguments) {
    device->launch(module->find_kernel(kernel),
                   {.grid = {2, 1, 1}, .block = {64, 1, 1}, .dynamic_lds_bytes = 0}, arguments);
    device->wait();
  }

  std::unique_ptr<Device> device = open_hip(options());
  std::unique_ptr<Module> module =
      device->load(codeobject::read_file(MHCHECK_RUNTIME_OBJECTS "/probe_O3.hsaco"), "probe_O3.hsaco");
};

TEST_F(FakeHip, PropertiesComeFromTheRuntime) {
  EXPECT_EQ(device->properties().name, "fake GPU");
  EXPECT_EQ(device->properties().num_cus, 256);
  EXPECT_EQ(device->properties().wave_size, 64);
  EXPECT_EQ(device->properties().max_workgroup_size, 1024u);
  EXPECT_EQ(device->properties().max_lds_bytes, 163840u);
  EXPECT_EQ(device->properties().max_grid[1], 65535u);
}

TEST_F(FakeHip, AGpuThatIsNotThereIsNamed) {
  HipOptions second = options();
  second.device = 1;
  const auto [kind, message] = failure_of([&] { open_hip(second); });
  EXPECT_EQ(kind, Failure::kUnavailable);
  EXPECT_THAT(message, HasSubstr("HIP finds 1 GPUs, so there is no GPU 1"));
}

TEST_F(FakeHip, ArgumentsArriveAndResultsComeBack) {
  const Buffer buffer = ints(100);
  run("add_one", {ArgumentValue(buffer.address()), ArgumentValue(std::int32_t{100})});
  run("add_one", {ArgumentValue(buffer.address()), ArgumentValue(std::int32_t{100})});
  EXPECT_THAT(content(buffer), Each(2));
  EXPECT_EQ(device->guard_damage(buffer), "");
}

TEST_F(FakeHip, FreshMemoryIsNaNInEveryFormat) {
  const Buffer buffer = device->allocate(64, "fresh");
  EXPECT_THAT(content(buffer), Each(-1));
}

TEST_F(FakeHip, WritesNextToABufferAreFound) {
  const Buffer behind = ints(100);
  run("write_past_end", {ArgumentValue(behind.address()), ArgumentValue(std::int32_t{102})});
  EXPECT_EQ(device->guard_damage(behind), "ints: 4 bytes written past its end, the first 8 bytes behind it");
  const Buffer before = ints(100);
  run("write_past_end", {ArgumentValue(before.address()), ArgumentValue(std::int32_t{-1})});
  EXPECT_EQ(device->guard_damage(before),
            "ints: 4 bytes written before its start, the last 1 bytes in front of it");
}

TEST_F(FakeHip, FaultsAndEndlessKernelsAreTyped) {
  const Buffer buffer = ints(1);
  const auto fault = failure_of([&] { run("trap", {ArgumentValue(buffer.address())}); });
  EXPECT_EQ(fault.first, Failure::kFault);
  EXPECT_EQ(fault.second, "running trap: HIP error 700: an illegal memory access was encountered");
  const auto endless = failure_of([&] { run("never_ends", {ArgumentValue(buffer.address())}); });
  EXPECT_EQ(endless.first, Failure::kBudget);
  EXPECT_EQ(endless.second, "never_ends has not ended after 0.05 s");
}

TEST_F(FakeHip, ALaunchThatDoesNotFitIsNotMade) {
  const Buffer buffer = ints(4);
  const auto wrong = failure_of([&] { run("add_one", {ArgumentValue(buffer.address())}); });
  EXPECT_EQ(wrong.first, Failure::kBadLaunch);
  EXPECT_THAT(content(buffer), Each(0));
}

TEST_F(FakeHip, ADeviceWithoutRoomSaysSo) {
  const auto [kind, message] = failure_of([&] { device->allocate(std::uint64_t{1} << 41, "giant"); });
  EXPECT_EQ(kind, Failure::kNoMemory);
  EXPECT_THAT(message, HasSubstr("for giant"));
}

}  // namespace
}  // namespace mhcheck::runtime
