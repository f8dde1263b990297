// How near a GPU's copy bandwidth our own kernels come at production sizes, as Markdown: bytes of all tensors
// of an operator, each counted once, over the time of its launches, against a plain copy in the same run.
//
//   kernel_bandwidth DEVICE MANIFEST COPY_CODE_OBJECT
//
// MANIFEST is that of our kernels for the device, COPY_CODE_OBJECT what the build made of copy.hip for it.
#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include "bench/production_problem.h"
#include "kernels/codeobject/code_object.h"
#include "kernels/manifests/manifest_kernels.h"
#include "kernels/runtime/open_device.h"
#include "properties/regimes.h"

namespace {

using namespace mhcheck;
using Clock = std::chrono::steady_clock;

constexpr int kRepeats = 50;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A device that runs every launch many times behind each other and adds up how long one takes. Ours write
// what they write from their inputs alone, so that repeating one changes nothing.
class TimedDevice : public runtime::Device {
 public:
  explicit TimedDevice(std::unique_ptr<runtime::Device> device) : device_(std::move(device)) {}

  double take_seconds() { return std::exchange(seconds_, 0.0); }

  const runtime::Properties& properties() const override { return device_->properties(); }
  std::unique_ptr<runtime::Module> load(std::span<const std::byte> file, const std::string& origin) override {
    return device_->load(file, origin);
  }
  runtime::Buffer allocate(std::uint64_t size, const std::string& name) override {
    return device_->allocate(size, name);
  }
  void upload(const runtime::Buffer& buffer, std::span<const std::byte> source) override {
    device_->upload(buffer, source);
  }
  void download(const runtime::Buffer& buffer, std::span<std::byte> target) override {
    device_->download(buffer, target);
  }
  std::string guard_damage(const runtime::Buffer& buffer) override { return device_->guard_damage(buffer); }
  void launch(const runtime::Kernel& kernel, const runtime::Geometry& geometry,
              std::span<const runtime::ArgumentValue> arguments) override {
    device_->launch(kernel, geometry, arguments);  // the first one warms caches up
    device_->wait();
    const auto start = Clock::now();
    for (int i = 0; i < kRepeats; ++i) device_->launch(kernel, geometry, arguments);
    device_->wait();
    seconds_ += seconds_since(start) / kRepeats;
  }
  runtime::Counters wait() override { return device_->wait(); }

 protected:
  // Buffers belong to the device inside.
  void release(std::uint64_t) noexcept override {}

 private:
  std::unique_ptr<runtime::Device> device_;
  double seconds_ = 0;
};

// GB/s, read and written bytes together.
double copy_bandwidth(TimedDevice& device, const std::filesystem::path& code_object) {
  constexpr std::uint64_t kBytes = 1u << 30, kBytesOfAThread = 16, kThreads = 256;
  const std::unique_ptr<runtime::Module> module =
      device.load(codeobject::read_file(code_object), code_object.string());
  const runtime::Buffer from = device.allocate(kBytes, "from"), to = device.allocate(kBytes, "to");
  const runtime::ArgumentValue arguments[] = {runtime::ArgumentValue(from.address()),
                                              runtime::ArgumentValue(to.address())};
  device.launch(module->find_kernel("copy"),
                {.grid = {kBytes / kBytesOfAThread / kThreads, 1, 1}, .block = {kThreads, 1, 1}}, arguments);
  return 2.0 * kBytes / device.take_seconds() / 1e9;
}

struct Measured {
  double microseconds;
  double gigabytes_a_second;
};

Measured measure(TimedDevice& device, kernels::ManifestKernels& kernels, const Case& c) {
  TensorMap inputs = properties::make_inputs(c);
  kernels::OutputRegions outputs;
  double bytes = 0;
  for (const auto& [name, tensor] : inputs) bytes += static_cast<double>(tensor.bytes().size());
  for (const TensorSpec& spec : output_specs(c.problem)) {
    kernels::OutputRegion& region = outputs[std::string(spec.name)];
    region.bytes.resize(element_count(spec.shape) * size_of(spec.dtype));
    bytes += static_cast<double>(region.bytes.size());
  }
  kernels.run(c.problem, inputs, outputs);
  const double seconds = device.take_seconds();
  return {seconds * 1e6, bytes / seconds / 1e9};
}

void print_table(const std::string& provider, const std::filesystem::path& manifest_path,
                 const std::filesystem::path& copy_code_object) {
  const auto device = std::make_shared<TimedDevice>(runtime::open_device(provider));
  const kernels::Manifest manifest = kernels::load_manifest(manifest_path);
  const double copy = copy_bandwidth(*device, copy_code_object);
  fmt::print("{}: a copy moves {:.0f} GB/s\n\n", device->properties().name, copy);
  fmt::print("| operator | variant | num_tokens | hidden_size | us | GB/s | of the copy |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const OperatorRow& row : all_operators()) {
    for (const char* variant : {"", "bf16x2"}) {
      kernels::ManifestKernels kernels(device, manifest, kernels::code_object_path(manifest, {}),
                                       *variant != '\0' ? std::optional<std::string>(variant) : std::nullopt);
      if (!kernels.implements(row.op)) continue;
      for (const std::int64_t tokens : {128, 4096}) {
        for (const std::int64_t hidden : {1280, 7168}) {
          Case c;
          c.problem = production_problem(row, hidden, tokens);
          const Measured measured = measure(*device, kernels, c);
          fmt::print("| `{}` | {} | {} | {} | {:.1f} | {:.0f} | {:.0f} % |\n", row.name,
                     *variant != '\0' ? variant : "first", tokens, hidden, measured.microseconds,
                     measured.gigabytes_a_second, 100 * measured.gigabytes_a_second / copy);
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: kernel_bandwidth DEVICE MANIFEST COPY_CODE_OBJECT\n");
    return 2;
  }
  try {
    print_table(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "kernel_bandwidth: {}\n", error.what());
    return 2;
  }
}
