#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "kernels/codeobject/code_object.h"
#include "kernels/runtime/sim_device.h"

// The kernels of small_kernels.hip, compiled at three optimisation levels, against the same computations on
// the host.
namespace mhcheck::simulator::testing {
namespace {

class Kernels : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { open({}); }
  void open(const Options& options) {
    module_.reset();
    device_ = runtime::open_sim(options);
    const std::string file = fmt::format("{}/small_kernels_O{}.co", SMALL_KERNELS_FOLDER, GetParam());
    module_ = device_->load(codeobject::read_file(file), file);
  }
  template <class T>
  runtime::Buffer upload(const std::vector<T>& values, const char* name = "in") {
    runtime::Buffer buffer = device_->allocate(values.size() * sizeof(T), name);
    device_->upload(buffer, std::as_bytes(std::span(values)));
    return buffer;
  }
  template <class T>
  std::vector<T> download(const runtime::Buffer& buffer) {
    std::vector<T> values(buffer.size() / sizeof(T));
    device_->download(buffer, std::as_writable_bytes(std::span(values)));
    return values;
  }
  template <class... Arguments>
  void run(const char* kernel, runtime::Geometry geometry, const Arguments&... arguments) {
    const std::vector<runtime::ArgumentValue> list{argument(arguments)...};
    device_->launch(module_->find_kernel(kernel), geometry, list);
    counters_ = device_->wait();
  }
  static runtime::ArgumentValue argument(const runtime::Buffer& buffer) {
    return runtime::ArgumentValue(buffer.address());
  }
  static runtime::ArgumentValue argument(int value) { return runtime::ArgumentValue(value); }

  std::vector<float> random_floats(size_t count, float spread) {
    std::vector<float> values(count);
    for (float& x : values)
      x = std::ldexp(
          static_cast<float>(random_() % 20001) / 10000.0f - 1.0f,
          static_cast<int>(random_() % static_cast<unsigned>(spread)) - static_cast<int>(spread / 2));
    return values;
  }

  std::mt19937_64 random_{17};
  std::unique_ptr<runtime::Device> device_;
  std::unique_ptr<runtime::Module> module_;
  runtime::Counters counters_;
};

TEST_P(Kernels, BlockReductionThroughLds) {
  std::vector<int> in(10007);
  for (int& x : in) x = static_cast<int>(random_() % 2001) - 1000;
  std::vector<int> expected(7);
  for (size_t i = 0; i < in.size(); ++i) expected[i % (7 * 256) / 256] += in[i];
  for (uint64_t seed : {0u, 1u, 9u}) {
    Options options;
    options.seed = seed;
    options.threads = seed == 1 ? 1 : 3;
    open(options);
    const auto input = upload(in);
    const auto output = device_->allocate(7 * 4, "out");
    run("block_sum", {{7, 1, 1}, {256, 1, 1}, 0}, input, output, static_cast<int>(in.size()));
    EXPECT_EQ(download<int>(output), expected) << "seed " << seed;
  }
}

TEST_P(Kernels, DivergentLoops) {
  std::vector<unsigned> in(500);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned>(i * 37 + 1);
  const auto input = upload(in), output = upload(std::vector<unsigned>(512, 7), "out");
  run("collatz", {{4, 1, 1}, {128, 1, 1}, 0}, input, output, static_cast<int>(in.size()));
  const auto steps = download<unsigned>(output);
  for (size_t i = 0; i < 512; ++i) {
    unsigned n = 0;
    for (uint64_t x = i < 500 ? in[i] : 1; x != 1; ++n) x = x % 2 ? 3 * x + 1 : x / 2;
    ASSERT_EQ(steps[i], i < 500 ? n : 7u) << i;
  }
}

TEST_P(Kernels, RecursiveCallsOnTheScratchStack) {
  const auto output = device_->allocate(64 * 4, "out");
  run("recursion", {{1, 1, 1}, {64, 1, 1}, 0}, output);
  const auto got = download<unsigned>(output);
  const unsigned fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  for (size_t i = 0; i < 64; ++i) ASSERT_EQ(got[i], fibonacci[i % 12]) << i;
}

TEST_P(Kernels, LocalArraysWithComputedIndices) {
  std::vector<unsigned> in(64);
  for (unsigned& x : in) x = static_cast<unsigned>(random_());
  const auto input = upload(in), output = device_->allocate(64 * 4, "out");
  run("local_array", {{1, 1, 1}, {64, 1, 1}, 0}, input, output);
  const auto got = download<unsigned>(output);
  for (size_t t = 0; t < 64; ++t) {
    unsigned values[32], sum = 0, at = in[t] % 32;
    for (unsigned i = 0; i < 32; ++i) values[i] = in[t] * i + i * i;
    for (int i = 0; i < 40; ++i) {
      sum = sum * 31 + values[at];
      values[at] ^= sum;
      at = (at + values[(at + 7) % 32]) % 32;
    }
    ASSERT_EQ(got[t], sum) << t;
  }
}

TEST_P(Kernels, SixtyFourBitIntegers) {
  std::vector<unsigned long long> a(300), b(300);
  for (size_t i = 0; i < a.size(); ++i) a[i] = random_() >> (i % 50), b[i] = random_() >> (i * 7 % 60);
  const auto input_a = upload(a), input_b = upload(b), output = device_->allocate(300 * 8, "out");
  run("wide_integers", {{5, 1, 1}, {64, 1, 1}, 0}, input_a, input_b, output, 300);
  const auto got = download<unsigned long long>(output);
  for (size_t i = 0; i < a.size(); ++i) {
    const unsigned long long x = a[i], y = b[i] | 1;
    const auto s = static_cast<long long>(x);
    const unsigned long long expected = (x / y) ^ (x % y) ^ static_cast<unsigned long long>(s >> (y % 64)) ^
                                        (x * y) ^ (static_cast<unsigned long long>(s / 1000003) << 1) ^
                                        static_cast<unsigned long long>(std::popcount(x)) ^
                                        static_cast<unsigned long long>(std::countl_zero(y));
    ASSERT_EQ(got[i], expected) << i;
  }
}

TEST_P(Kernels, FloatsRoundLikeTheHost) {
  const auto a = random_floats(400, 60), b = random_floats(400, 60);
  const auto input_a = upload(a), input_b = upload(b), output = device_->allocate(400 * 16, "out");
  run("floats", {{7, 1, 1}, {64, 1, 1}, 0}, input_a, input_b, output, 400);
  const auto got = download<float>(output);
  for (size_t i = 0; i < 400; ++i) {
    const float x = a[i], y = b[i];
    if (y != 0) {
      ASSERT_EQ(got[4 * i], x / y) << x << " / " << y;
    }
    // Compilers may fuse the multiplications of device code; then the inner sum is one of two values.
    const float plain = std::sqrt(x * x + y * y), fused = std::sqrt(std::fma(x, x, y * y)),
                other = std::sqrt(std::fma(y, y, x * x));
    ASSERT_TRUE(got[4 * i + 1] == plain || got[4 * i + 1] == fused || got[4 * i + 1] == other)
        << x << ", " << y;
    ASSERT_EQ(got[4 * i + 2], std::fma(x, y, -x));
    const float sum = std::rint(x) + std::floor(y) * std::trunc(x - y),
                fused_sum = std::fma(std::floor(y), std::trunc(x - y), std::rint(x));
    ASSERT_TRUE(got[4 * i + 3] == sum || got[4 * i + 3] == fused_sum) << x << ", " << y;
  }
}

TEST_P(Kernels, DoublesRoundLikeTheHost) {
  std::vector<double> a(200), b(200);
  for (size_t i = 0; i < 200; ++i)
    a[i] = static_cast<double>(random_() % 1000000) / 977.0,
    b[i] = static_cast<double>(random_() % 1000000 + 1) / 1013.0;
  const auto input_a = upload(a), input_b = upload(b), output = device_->allocate(200 * 16, "out");
  run("doubles", {{4, 1, 1}, {64, 1, 1}, 0}, input_a, input_b, output, 200);
  const auto got = download<double>(output);
  for (size_t i = 0; i < 200; ++i) {
    ASSERT_EQ(got[2 * i], a[i] / b[i] + static_cast<int>(a[i]));
    const double plain = std::sqrt(a[i] * a[i] + b[i] * b[i]),
                 fused = std::sqrt(std::fma(a[i], a[i], b[i] * b[i])),
                 other = std::sqrt(std::fma(b[i], b[i], a[i] * a[i]));
    ASSERT_TRUE(got[2 * i + 1] == plain || got[2 * i + 1] == fused || got[2 * i + 1] == other);
  }
}

TEST_P(Kernels, HalvesAndBfloats) {
  std::vector<float> in(256);
  for (size_t i = 0; i < in.size(); ++i) in[i] = 0.0625f * (static_cast<float>(i) - 128.0f);
  const auto input = upload(in), halves = device_->allocate(512, "halves"),
             bfloats = device_->allocate(512, "bfloats");
  run("halves", {{4, 1, 1}, {64, 1, 1}, 0}, input, halves, bfloats, 256);
  const auto half = download<uint16_t>(halves), bfloat = download<uint16_t>(bfloats);
  for (size_t i = 0; i < in.size(); ++i) {
    // The squares plus a half have 11 bits at most after one rounding to f16; n/16 is exact in both formats.
    const float square = in[i] * in[i] + 0.5f;
    const int exponent = std::ilogb(square);
    const double step = std::ldexp(1.0, exponent - 10);
    const double fused = std::nearbyint(square / step) * step;
    const double first =
        std::nearbyint(in[i] * in[i] / std::ldexp(1.0, std::ilogb(in[i] * in[i] + 1e-30f) - 10)) *
            std::ldexp(1.0, std::ilogb(in[i] * in[i] + 1e-30f) - 10) +
        0.5;
    const double twice_step = std::ldexp(1.0, std::ilogb(first) - 10),
                 twice = std::nearbyint(first / twice_step) * twice_step;
    const int bits = half[i];
    const double got = std::ldexp(1024 + (bits & 1023), (bits >> 10) - 25);
    ASSERT_TRUE(got == fused || got == twice) << in[i] << " gives " << got;
    const float product = in[i] * 3.0f;  // 10 bits at most
    const uint32_t raw = std::bit_cast<uint32_t>(product), rounded = (raw + 0x7fff + (raw >> 16 & 1)) >> 16;
    ASSERT_EQ(bfloat[i], rounded) << in[i];
  }
}

TEST_P(Kernels, LaneCrossings) {
  std::vector<int> in(64);
  for (int& x : in) x = static_cast<int>(random_() % 1000);
  const auto input = upload(in), output = device_->allocate(256, "out");
  run("lane_crossing", {{1, 1, 1}, {64, 1, 1}, 0}, input, output);
  const auto got = download<int>(output);
  int sum = 0, odd = 0;
  for (int x : in) sum += x, odd += x & 1;
  for (size_t i = 0; i < 64; ++i)
    ASSERT_EQ(got[i], sum + odd * 3 + in[i * 7 % 64] + in[i + 3 < 64 ? i + 3 : i]) << i;
}

TEST_P(Kernels, HistogramWithAtomicsAndDynamicLds) {
  std::vector<unsigned> in(5000), expected(64);
  for (unsigned& x : in) ++expected[(x = static_cast<unsigned>(random_())) % 64];
  for (int threads : {1, 4}) {
    Options options;
    options.threads = threads;
    open(options);
    const auto input = upload(in), output = upload(std::vector<unsigned>(64, 0), "out");
    run("histogram", {{6, 1, 1}, {192, 1, 1}, 256}, input, output, 5000);
    EXPECT_EQ(download<unsigned>(output), expected);
  }
}

TEST_P(Kernels, TransposeOfATwoDimensionalGrid) {
  constexpr int kWidth = 45, kHeight = 70;
  const auto in = random_floats(kWidth * kHeight, 10);
  const auto input = upload(in), output = device_->allocate(in.size() * 4, "out");
  run("transpose", {{3, 5, 1}, {16, 16, 1}, 0}, input, output, kWidth, kHeight);
  const auto got = download<float>(output);
  for (size_t y = 0; y < kHeight; ++y)
    for (size_t x = 0; x < kWidth; ++x) ASSERT_EQ(got[x * kHeight + y], in[y * kWidth + x]);
}

TEST_P(Kernels, MatrixProducts) {
  std::vector<float> a(16 * 64), b(64 * 16);
  for (float& x : a) x = static_cast<float>(static_cast<int>(random_() % 17) - 8);
  for (float& x : b) x = static_cast<float>(static_cast<int>(random_() % 17) - 8);
  for (const char* kernel : {"matrix_f32", "matrix_bf16"}) {
    const auto input_a = upload(a), input_b = upload(b), output = device_->allocate(1024, "out");
    run(kernel, {{1, 1, 1}, {64, 1, 1}, 0}, input_a, input_b, output);
    const auto got = download<float>(output);
    for (size_t i = 0; i < 16; ++i) {
      for (size_t j = 0; j < 16; ++j) {
        float sum = 0;
        for (size_t k = 0; k < 64; ++k) sum += a[i * 64 + k] * b[k * 16 + j];
        ASSERT_EQ(got[i * 16 + j], sum) << kernel << " " << i << "," << j;
      }
    }
    EXPECT_EQ(counters_.at("mfma"), std::string(kernel) == "matrix_f32" ? 16u : 2u);
  }
}

INSTANTIATE_TEST_SUITE_P(Optimisation, Kernels, ::testing::Values(0, 1, 3),
                         [](const auto& level) { return fmt::format("O{}", level.param); });

}  // namespace
}  // namespace mhcheck::simulator::testing
