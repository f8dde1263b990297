#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/runtime/device.h"

namespace mhcheck::runtime {

/// What HIP's module API and CUDA's driver API have in common, error codes included. Every call reports an
/// error as its code; 0 is success.
class DriverApi {
 public:
  virtual ~DriverApi() = default;
  virtual std::string describe(int error) const = 0;
  virtual int allocate(std::uint64_t* address, std::size_t size) = 0;
  virtual int free(std::uint64_t address) = 0;
  virtual int copy_to_device(std::uint64_t target, std::span<const std::byte> source) = 0;
  virtual int copy_from_device(std::span<std::byte> target, std::uint64_t source) = 0;
  virtual int load_module(void** module, const void* image) = 0;
  virtual int unload_module(void* module) = 0;
  virtual int find_function(void** function, void* module, const char* name) = 0;
  virtual int launch(void* function, const Geometry& geometry, void** arguments) = 0;
  /// Whether everything launched has ended: 0, kNotReady, or an error.
  virtual int query() = 0;

  static constexpr int kNotReady = 600;

  /// A kernel did not end. Drivers wait for it in every call that gives something back, so nothing is given
  /// back any more: memory and modules stay until the process ends.
  void abandon() { abandoned_ = true; }
  bool abandoned() const { return abandoned_; }

 private:
  bool abandoned_ = false;
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

/// A GPU behind a vendor's driver. Buffers stand between guard bytes; a kernel that runs longer than
/// `patience` is reported as kBudget, and nothing else will run on the device in this process.
class DriverDevice : public Device {
 public:
  const Properties& properties() const override { return properties_; }
  Buffer allocate(std::uint64_t size, const std::string& name) override;
  void upload(const Buffer& buffer, std::span<const std::byte> source) override;
  void download(const Buffer& buffer, std::span<std::byte> target) override;
  std::string guard_damage(const Buffer& buffer) override;
  void launch(const Kernel& kernel, const Geometry& geometry,
              std::span<const ArgumentValue> arguments) override;
  Counters wait() override;

 protected:
  DriverDevice(std::shared_ptr<DriverApi> api, Properties properties, std::chrono::milliseconds patience)
      : api_(std::move(api)), properties_(std::move(properties)), patience_(patience) {}
  void release(std::uint64_t address) noexcept override;
  const std::shared_ptr<DriverApi>& api() const { return api_; }

 private:
  std::shared_ptr<DriverApi> api_;
  Properties properties_;
  std::chrono::milliseconds patience_;
  std::string last_kernel_;  // for messages: which launch wait() reports about
};

}  // namespace mhcheck::runtime
