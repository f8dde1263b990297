// The CUDA provider on a real GPU, with kernels in PTX.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "kernels/codeobject/error.h"
#include "kernels/runtime/cuda_device.h"

namespace mhcheck::runtime {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr std::string_view kPtx = R"(
.version 7.0
.target sm_70
.address_size 64

.visible .entry add_some(.param .u64 values, .param .u32 count, .param .f32 amount)
{
  .reg .pred %p;
  .reg .b32 %r<5>;
  .reg .f32 %f<3>;
  .reg .b64 %d<3>;
  ld.param.u64 %d0, [values];
  ld.param.u32 %r0, [count];
  ld.param.f32 %f0, [amount];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  setp.ge.s32 %p, %r4, %r0;
  @%p bra done;
  mul.wide.s32 %d1, %r4, 4;
  add.s64 %d2, %d0, %d1;
  ld.global.f32 %f1, [%d2];
  add.f32 %f2, %f1, %f0;
  st.global.f32 [%d2], %f2;
done:
  ret;
}

.visible .entry write_at(.param .u64 values, .param .s64 index)
{
  .reg .b32 %r;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [values];
  ld.param.s64 %d1, [index];
  shl.b64 %d2, %d1, 2;
  add.s64 %d3, %d0, %d2;
  mov.u32 %r, 1;
  st.global.u32 [%d3], %r;
  ret;
}
)";

class CudaGpu : public testing::Test {
 protected:
  Buffer floats(std::size_t count) {
    const std::vector<float> zeros(count);
    Buffer buffer = device->allocate(count * 4, "floats");
    device->upload(buffer, std::as_bytes(std::span(zeros)));
    return buffer;
  }
  std::vector<float> content(const Buffer& buffer) {
    std::vector<float> values(buffer.size() / 4);
    device->download(buffer, std::as_writable_bytes(std::span(values)));
    return values;
  }
  void run(const char* kernel, const std::vector<ArgumentValue>& arguments) {
    device->launch(module->find_kernel(kernel),
                   {.grid = {4, 1, 1}, .block = {32, 1, 1}, .dynamic_lds_bytes = 0}, arguments);
    device->wait();
  }

  std::unique_ptr<Device> device = open_cuda();
  std::unique_ptr<Module> module = device->load(std::as_bytes(std::span(kPtx)), "test.ptx");
};

TEST_F(CudaGpu, PropertiesAreThoseOfAGpu) {
  EXPECT_GT(device->properties().num_cus, 0);
  EXPECT_EQ(device->properties().wave_size, 32);
  EXPECT_EQ(device->properties().max_workgroup_size, 1024u);
  EXPECT_THAT(device->properties().target, HasSubstr("sm_"));
  RecordProperty("gpu", device->properties().name);
}

TEST_F(CudaGpu, KernelsTellTheirArguments) {
  EXPECT_THAT(module->find_kernel("add_some").argument_sizes(), testing::ElementsAre(8, 4, 4));
  EXPECT_EQ(module->find_kernel("write*").name(), "write_at");
  EXPECT_THROW(module->find_kernel("*_*"), codeobject::CodeObjectError);
}

TEST_F(CudaGpu, ArgumentsArriveAndResultsComeBack) {
  const Buffer buffer = floats(100);
  for (int i = 0; i < 3; ++i) {
    run("add_some", {ArgumentValue(buffer.address()), ArgumentValue(std::int32_t{100}), ArgumentValue(0.5f)});
  }
  EXPECT_THAT(content(buffer), Each(1.5f));
  EXPECT_EQ(device->guard_damage(buffer), "");
}

TEST_F(CudaGpu, WritesNextToABufferAreFound) {
  const Buffer buffer = floats(100);
  run("write_at", {ArgumentValue(buffer.address()), ArgumentValue(std::int64_t{101})});
  EXPECT_EQ(device->guard_damage(buffer),
            "floats: 4 bytes written past its end, the first 4 bytes behind it");
}

TEST_F(CudaGpu, ALaunchThatDoesNotFitIsNotMade) {
  const Buffer buffer = floats(100);
  EXPECT_THROW(run("add_some", {ArgumentValue(buffer.address())}), DeviceError);
  EXPECT_THAT(content(buffer), Each(0.0f));
}

TEST_F(CudaGpu, TextThatIsNoModuleIsRefused) {
  const std::string_view nonsense = "nonsense";
  EXPECT_THROW(device->load(std::as_bytes(std::span(nonsense)), "nonsense"), DeviceError);
}

// Last, and in a process of its own: the driver gives the context up after a fault.
TEST(CudaGpuDeathTest, AFaultIsATypedFailure) {
  const auto fault = [] {
    const auto device = open_cuda();
    const auto module = device->load(std::as_bytes(std::span(kPtx)), "test.ptx");
    try {
      device->launch(
          module->find_kernel("write_at"), {},
          std::vector<ArgumentValue>{ArgumentValue(std::uint64_t{64}), ArgumentValue(std::int64_t{0})});
      device->wait();
    } catch (const DeviceError& error) {
      std::_Exit(error.kind() == Failure::kFault &&
                         std::string_view(error.what()).starts_with("running write_at")
                     ? 7
                     : 1);
    }
    std::_Exit(2);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(fault(), testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace mhcheck::runtime
