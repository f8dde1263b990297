#include "kernels/runtime/driver_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>
#include <type_traits>
#include <utility>

namespace mhcheck::runtime {
namespace {

constexpr std::uint64_t kGuardBytes = 4096;
constexpr std::byte kGuard{0xa5};
// NaN in every floating-point format: what reads memory that nothing wrote becomes visible.
constexpr std::byte kUninitialised{0xff};

// HIP took CUDA's numbers.
Failure classify(int error) {
  switch (error) {
    case 2:
      return Failure::kNoMemory;
    case 1:    // invalid value
    case 9:    // invalid configuration
    case 701:  // out of resources
      return Failure::kBadLaunch;
    case 700:  // illegal address
    case 710:  // assertion
    case 714:  // hardware stack error
    case 715:  // illegal instruction
    case 716:  // misaligned address
    case 717:  // invalid address space
    case 718:  // invalid program counter
    case 719:  // other launch failure
      return Failure::kFault;
    case 702:
      return Failure::kBudget;
    default:
      return Failure::kDriver;
  }
}

// "3 bytes from 12 bytes past the end", or empty.
std::string find_damage(std::span<const std::byte> guard, bool behind) {
  const auto changed = [](std::byte b) { return b != kGuard; };
  const auto count = std::count_if(guard.begin(), guard.end(), changed);
  if (count == 0) return {};
  if (behind) {
    const auto first = std::find_if(guard.begin(), guard.end(), changed) - guard.begin();
    return fmt::format("{} bytes written past its end, the first {} bytes behind it", count, first);
  }
  const auto last = std::find_if(guard.rbegin(), guard.rend(), changed) - guard.rbegin();
  return fmt::format("{} bytes written before its start, the last {} bytes in front of it", count, last + 1);
}

}  // namespace

void check(const DriverApi& api, int error, std::string_view what) {
  if (error != 0) throw DeviceError(classify(error), fmt::format("{}: {}", what, api.describe(error)));
}

DriverApi::DriverApi(const DriverNames& names, std::span<const std::string> libraries)
    : names_(names), library_(libraries, names.install) {
  const auto find = [&](auto& function, const char* name) {
    function = library_.symbol<std::remove_pointer_t<std::remove_reference_t<decltype(function)>>>(name);
  };
  find(init_, names.init);
  find(device_count_, names.device_count);
  find(device_name_, names.device_name);
  find(attribute_, names.attribute);
  find(allocate_, names.allocate);
  find(free_, names.free);
  find(copy_to_device_, names.copy_to_device);
  find(copy_from_device_, names.copy_from_device);
  find(load_module_, names.load_module);
  find(unload_module_, names.unload_module);
  find(launch_, names.launch);
  find(query_, names.query);
}

Properties DriverApi::open(int device) {
  int count = 0;
  int error = init_(/*flags=*/0);
  if (error == 0) error = device_count_(&count);
  if (error != 0 || device >= count) {
    throw DeviceError(Failure::kUnavailable,
                      fmt::format("{} finds {} GPUs, so there is no GPU {} ({}): check {}", names_.runtime,
                                  count, device, error != 0 ? describe(error) : "no error", names_.no_gpu));
  }
  const int handle = select(device);
  char name[256] = {};
  check(*this, device_name_(name, sizeof(name) - 1, handle), "asking for the GPU's name");
  const auto limit = [&](int number) { return static_cast<std::uint32_t>(attribute(number, handle)); };
  return {.name = name,
          .target = {},
          .num_cus = attribute(names_.multiprocessor_count, handle),
          .wave_size = attribute(names_.warp_size, handle),
          .max_workgroup_size = limit(names_.max_threads_per_block),
          .max_lds_bytes = limit(names_.max_shared_memory_per_block),
          .max_grid = {limit(names_.max_grid[0]), limit(names_.max_grid[1]), limit(names_.max_grid[2])}};
}

int DriverApi::attribute(int attribute, int handle) {
  int value = 0;
  check(*this, attribute_(&value, attribute, handle), "asking for the GPU's limits");
  return value;
}

int DriverApi::launch(void* function, const Geometry& geometry, void** arguments) {
  const auto narrow = [](std::uint64_t value) { return static_cast<unsigned>(value); };
  return launch_(function, narrow(geometry.grid[0]), narrow(geometry.grid[1]), narrow(geometry.grid[2]),
                 narrow(geometry.block[0]), narrow(geometry.block[1]), narrow(geometry.block[2]),
                 narrow(geometry.dynamic_lds_bytes), /*stream=*/nullptr, arguments, /*extra=*/nullptr);
}

DriverModule::~DriverModule() {
  if (api_->abandoned()) return;
  for (void* module : modules_) (void)api_->unload_module(module);
}

void* DriverModule::add_image(const void* image) {
  void* module = nullptr;
  check(*api_, api_->load_module(&module, image), fmt::format("{}: loading it", origin_));
  modules_.push_back(module);
  return module;
}

void DriverModule::add_kernel(const codeobject::KernelNames& names, void* function,
                              std::vector<std::uint32_t> argument_sizes) {
  kernels_.emplace_back(names.demangled, function, std::move(argument_sizes));
  names_.push_back(names);
}

Buffer DriverDevice::allocate(std::uint64_t size, const std::string& name) {
  std::uint64_t base = 0;
  const std::uint64_t total = size + 2 * kGuardBytes;
  check(*api_, api_->allocate(&base, total), fmt::format("allocating {} bytes for {}", size, name));
  Buffer buffer(*this, base + kGuardBytes, size, name);
  std::vector<std::byte> content(total, kGuard);
  std::fill_n(content.begin() + kGuardBytes, size, kUninitialised);
  check(*api_, api_->copy_to_device(base, content), fmt::format("preparing {}", name));
  return buffer;
}

void DriverDevice::release(std::uint64_t address) noexcept {
  if (api_->abandoned()) return;
  // After a fault the driver refuses this too; the fault itself has been reported.
  (void)api_->free(address - kGuardBytes);
}

void DriverDevice::upload(const Buffer& buffer, std::span<const std::byte> source) {
  if (source.empty()) return;
  check(*api_, api_->copy_to_device(buffer.address(), source), fmt::format("writing {}", buffer.name()));
}

void DriverDevice::download(const Buffer& buffer, std::span<std::byte> target) {
  if (target.empty()) return;
  check(*api_, api_->copy_from_device(target, buffer.address()), fmt::format("reading {}", buffer.name()));
}

std::string DriverDevice::guard_damage(const Buffer& buffer) {
  std::array<std::byte, kGuardBytes> guard;
  const auto damage = [&](std::uint64_t address, bool behind) {
    check(*api_, api_->copy_from_device(guard, address),
          fmt::format("reading the guard of {}", buffer.name()));
    const std::string found = find_damage(guard, behind);
    return found.empty() ? found : fmt::format("{}: {}", buffer.name(), found);
  };
  const std::string before = damage(buffer.address() - kGuardBytes, /*behind=*/false);
  return before.empty() ? damage(buffer.address() + buffer.size(), /*behind=*/true) : before;
}

void DriverDevice::launch(const Kernel& kernel, const Geometry& geometry,
                          std::span<const ArgumentValue> arguments) {
  const auto& driver_kernel = dynamic_cast<const DriverKernel&>(kernel);
  check_launch(properties_, kernel, geometry, arguments);
  std::vector<void*> pointers;
  for (const ArgumentValue& argument : arguments) {
    pointers.push_back(const_cast<std::byte*>(argument.bytes().data()));
  }
  last_kernel_ = kernel.name();
  check(*api_, api_->launch(driver_kernel.function(), geometry, pointers.data()),
        fmt::format("launching {}", kernel.name()));
}

Counters DriverDevice::wait() {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    const int state = api_->query();
    if (state == 0) return {};
    if (state != DriverApi::kNotReady) check(*api_, state, fmt::format("running {}", last_kernel_));
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited > patience_) {
      api_->abandon();
      throw DeviceError(Failure::kBudget, fmt::format("{} has not ended after {} s", last_kernel_,
                                                      std::chrono::duration<double>(patience_).count()));
    }
    // Most kernels take microseconds; a long one need not keep a core busy.
    if (waited > std::chrono::milliseconds(2)) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

}  // namespace mhcheck::runtime
