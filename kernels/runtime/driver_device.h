#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/codeobject/find_kernel.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/shared_library.h"

namespace mhcheck::runtime {

/// What a vendor's runtime calls the functions, and how it numbers the attributes, that HIP's module API and
/// CUDA's driver API have in common: one row a runtime. Error codes are the same in both.
struct DriverNames {
  std::string_view runtime;  ///< "HIP"
  std::string_view install;  ///< what to install where the library is missing
  std::string_view no_gpu;   ///< what to check where it finds no GPU

  const char* init;
  const char* device_count;
  const char* device_name;
  const char* attribute;
  const char* allocate;
  const char* free;
  const char* copy_to_device;
  const char* copy_from_device;
  const char* load_module;
  const char* unload_module;
  const char* launch;
  const char* query;

  int max_threads_per_block;
  std::array<int, 3> max_grid;
  int multiprocessor_count;
  int max_shared_memory_per_block;
  int warp_size;
};

/// Those functions, found in the vendor's library. Every call reports an error as its code; 0 is success.
class DriverApi {
 public:
  /// Throws DeviceError (kUnavailable) when no library has them.
  DriverApi(const DriverNames& names, std::span<const std::string> libraries);
  virtual ~DriverApi() = default;

  virtual std::string describe(int error) const = 0;

  /// Initialises the runtime and makes a GPU current. Throws DeviceError (kUnavailable) when there is no such
  /// GPU. What code has to be compiled for is left open.
  Properties open(int device);

  int allocate(std::uint64_t* address, std::size_t size) { return allocate_(address, size); }
  int free(std::uint64_t address) { return free_(address); }
  int copy_to_device(std::uint64_t target, std::span<const std::byte> source) {
    return copy_to_device_(target, source.data(), source.size());
  }
  int copy_from_device(std::span<std::byte> target, std::uint64_t source) {
    return copy_from_device_(target.data(), source, target.size());
  }
  int load_module(void** module, const void* image) { return load_module_(module, image); }
  int unload_module(void* module) { return unload_module_(module); }
  int launch(void* function, const Geometry& geometry, void** arguments);
  /// Whether everything launched has ended: 0, kNotReady, or an error.
  int query() { return query_(/*stream=*/nullptr); }

  static constexpr int kNotReady = 600;

  /// A kernel did not end. Drivers wait for it in every call that gives something back, so nothing is given
  /// back any more: memory and modules stay until the process ends.
  void abandon() { abandoned_ = true; }
  bool abandoned() const { return abandoned_; }

 protected:
  /// Makes the GPU of that number current; returns what the functions about a GPU call it.
  virtual int select(int device) = 0;
  int attribute(int attribute, int handle);
  const SharedLibrary& library() const { return library_; }

 private:
  const DriverNames& names_;
  SharedLibrary library_;
  bool abandoned_ = false;

  // Device addresses are void* to HIP and 64-bit integers to CUDA, which a call passes alike.
  int (*init_)(unsigned flags);
  int (*device_count_)(int* count);
  int (*device_name_)(char* name, int size, int handle);
  int (*attribute_)(int* value, int attribute, int handle);
  int (*allocate_)(std::uint64_t* address, std::size_t size);
  int (*free_)(std::uint64_t address);
  int (*copy_to_device_)(std::uint64_t target, const void* source, std::size_t size);
  int (*copy_from_device_)(void* target, std::uint64_t source, std::size_t size);
  int (*load_module_)(void** module, const void* image);
  int (*unload_module_)(void* module);
  int (*launch_)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                 unsigned block_y, unsigned block_z, unsigned lds_bytes, void* stream, void** arguments,
                 void** extra);
  int (*query_)(void* stream);
};

/// Throws DeviceError unless `error` is 0. `what` was being done.
void check(const DriverApi& api, int error, std::string_view what);

/// A kernel that a driver's module holds.
class DriverKernel : public Kernel {
 public:
  DriverKernel(std::string name, void* function, std::vector<std::uint32_t> argument_sizes)
      : name_(std::move(name)), function_(function), argument_sizes_(std::move(argument_sizes)) {}
  const std::string& name() const override { return name_; }
  const std::vector<std::uint32_t>& argument_sizes() const override { return argument_sizes_; }
  void* function() const { return function_; }

 private:
  std::string name_;
  void* function_;
  std::vector<std::uint32_t> argument_sizes_;
};

/// What a driver made of a file: its modules, and the kernels that the provider found in them.
class DriverModule : public Module {
 public:
  DriverModule(std::shared_ptr<DriverApi> api, std::string origin)
      : api_(std::move(api)), origin_(std::move(origin)) {}
  ~DriverModule() override;
  DriverModule(const DriverModule&) = delete;
  DriverModule& operator=(const DriverModule&) = delete;

  /// Gives an image to the driver; returns the driver's module.
  void* add_image(const void* image);
  void add_kernel(const codeobject::KernelNames& names, void* function,
                  std::vector<std::uint32_t> argument_sizes);

  const Kernel& find_kernel(std::string_view pattern) const override {
    return kernels_[codeobject::find_kernel(names_, pattern, origin_)];
  }

 private:
  std::shared_ptr<DriverApi> api_;
  std::string origin_;
  std::vector<void*> modules_;
  std::deque<DriverKernel> kernels_;
  std::vector<codeobject::KernelNames> names_;
};

/// A GPU behind a vendor's driver. Buffers stand between guard bytes; a kernel that runs longer than
/// `patience` is reported as kBudget, and nothing else will run on the device in this process.
class DriverDevice : public Device {
 public:
  /// How the provider loads a file.
  using Load =
      std::function<std::unique_ptr<Module>(std::span<const std::byte> file, const std::string& origin)>;

  DriverDevice(std::shared_ptr<DriverApi> api, Properties properties, std::chrono::milliseconds patience,
               Load load)
      : api_(std::move(api)),
        properties_(std::move(properties)),
        patience_(patience),
        load_(std::move(load)) {}

  const Properties& properties() const override { return properties_; }
  std::unique_ptr<Module> load(std::span<const std::byte> file, const std::string& origin) override {
    return load_(file, origin);
  }
  Buffer allocate(std::uint64_t size, const std::string& name) override;
  void upload(const Buffer& buffer, std::span<const std::byte> source) override;
  void download(const Buffer& buffer, std::span<std::byte> target) override;
  std::string guard_damage(const Buffer& buffer) override;
  void launch(const Kernel& kernel, const Geometry& geometry,
              std::span<const ArgumentValue> arguments) override;
  Counters wait() override;

 protected:
  void release(std::uint64_t address) noexcept override;

 private:
  std::shared_ptr<DriverApi> api_;
  Properties properties_;
  std::chrono::milliseconds patience_;
  Load load_;
  std::string last_kernel_;  // for messages: which launch wait() reports about
};

}  // namespace mhcheck::runtime
