#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/simulator/sanitizers/buffer_use.h"
#include "kernels/simulator/sanitizers/finding.h"

namespace mhcheck::runtime {

/// Why a device could not do what it was asked.
enum class Failure {
  kUnavailable,  ///< a library or a device is missing
  kBadLaunch,    ///< the launch breaks a limit, or its arguments do not fit the kernel
  kUnsupported,  ///< the simulator has no such instruction
  kFault,        ///< the kernel touched memory or state that it must not touch
  kBudget,       ///< the kernel did not end within the instruction budget
  kDeadlock,     ///< the kernel waits for something that cannot happen
  kNoMemory,     ///< the device has no room
  kDriver,       ///< the vendor's runtime reported another error
};

/// One line: what happened, where, and what would be right or has to be installed.
class DeviceError : public std::runtime_error {
 public:
  DeviceError(Failure kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  Failure kind() const { return kind_; }

 private:
  Failure kind_;
};

struct Properties {
  std::string name;                         ///< "gfx950 simulator", "AMD Instinct MI355X"
  std::string target;                       ///< what code has to be compiled for: "gfx950", "sm_90"
  int num_cus = 0;                          ///< compute units (AMD), multiprocessors (NVIDIA)
  int wave_size = 0;                        ///< lanes of a wave or warp
  std::uint32_t max_workgroup_size = 0;     ///< work-items
  std::uint32_t max_lds_bytes = 0;          ///< of a workgroup, static and dynamic
  std::array<std::uint64_t, 3> max_grid{};  ///< workgroups in each direction
};

/// Workgroups, work-items of a workgroup, and bytes of dynamic LDS.
struct Geometry {
  std::array<std::uint64_t, 3> grid{1, 1, 1};
  std::array<std::uint64_t, 3> block{1, 1, 1};
  std::uint64_t dynamic_lds_bytes = 0;
};

/// The value of one explicit kernel argument: a device address, a scalar, or the bytes of a structure.
class ArgumentValue {
 public:
  template <class Value>
  requires std::is_arithmetic_v<Value>
  explicit ArgumentValue(Value value) : bytes_(sizeof(Value)) {
    std::memcpy(bytes_.data(), &value, sizeof(Value));
  }
  explicit ArgumentValue(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// What to look for while kernels run, and in which order their waves take turns.
struct Instrumentation {
  simulator::SanitizerSet sanitizers;
  std::optional<std::uint64_t> schedule;  ///< seed of the interleaving; none: as the device was opened
};

class Device;

/// Device memory of exactly the size asked for, given back on destruction; must not outlive its device.
class Buffer {
 public:
  Buffer(Device& device, std::uint64_t address, std::uint64_t size, std::string name)
      : device_(&device), address_(address), size_(size), name_(std::move(name)) {}
  Buffer(Buffer&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)),
        address_(other.address_),
        size_(other.size_),
        name_(std::move(other.name_)) {}
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer();

  std::uint64_t address() const { return address_; }
  std::uint64_t size() const { return size_; }
  const std::string& name() const { return name_; }

 private:
  Device* device_;
  std::uint64_t address_;
  std::uint64_t size_;
  std::string name_;
};

/// One kernel of a loaded module.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual const std::string& name() const = 0;
  /// Bytes of each explicit argument, in order.
  virtual const std::vector<std::uint32_t>& argument_sizes() const = 0;
};

/// A loaded file: the kernels of all its code objects.
class Module {
 public:
  virtual ~Module() = default;
  /// The kernel of this mangled or demangled name, or the only one that matches it as a glob; lives as long
  /// as the module. Throws codeobject::CodeObjectError when there is none or more than one.
  virtual const Kernel& find_kernel(std::string_view pattern) const = 0;
};

/// What was counted since the last wait, by name; empty on devices that do not count.
using Counters = std::map<std::string, std::uint64_t>;

/// A machine that runs kernels. Not synchronised: one thread at a time. Calls throw DeviceError; after kFault
/// a real GPU may refuse everything else.
class Device {
 public:
  virtual ~Device() = default;

  virtual const Properties& properties() const = 0;

  /// Loads a file's bytes: any container that codeobject::find_device_images knows (gfx950 devices), or PTX,
  /// cubin or fatbin (cuda). `origin` names it in messages. Throws codeobject::CodeObjectError for what is
  /// wrong with the file.
  virtual std::unique_ptr<Module> load(std::span<const std::byte> file, const std::string& origin) = 0;

  /// Uninitialised memory, its address a multiple of 256. Accesses beyond its ends fault, or are seen by
  /// guard_damage(). `size` may be 0.
  virtual Buffer allocate(std::uint64_t size, const std::string& name) = 0;
  virtual void upload(const Buffer& buffer, std::span<const std::byte> source) = 0;
  virtual void download(const Buffer& buffer, std::span<std::byte> target) = 0;
  /// Empty while nothing has written next to the buffer; otherwise one line saying where.
  virtual std::string guard_damage(const Buffer& buffer) = 0;

  /// Starts a kernel behind all earlier ones. What a running kernel does wrong may be reported here or by
  /// wait().
  virtual void launch(const Kernel& kernel, const Geometry& geometry,
                      std::span<const ArgumentValue> arguments) = 0;
  /// Returns when every kernel has ended.
  virtual Counters wait() = 0;

  /// From now on. Throws DeviceError (kUnsupported) where the device cannot do it.
  virtual void instrument(const Instrumentation& wanted);
  /// What kernels may do with a buffer, for sanitizers; before anything is uploaded to it.
  virtual void declare(const Buffer& buffer, const simulator::BufferUse& use);
  /// What sanitizers have seen since the last call, elements of live outputs that nobody has written
  /// included: to be called when all launches of a job have ended.
  virtual std::vector<simulator::SanitizerFinding> findings();

 protected:
  friend class Buffer;
  virtual void release(std::uint64_t address) noexcept = 0;
};

inline Buffer::~Buffer() {
  if (device_ != nullptr) device_->release(address_);
}

inline void Device::instrument(const Instrumentation& wanted) {
  if (!wanted.sanitizers.empty() || wanted.schedule) {
    throw DeviceError(Failure::kUnsupported,
                      properties().name + ": sanitizers and schedules need the simulator");
  }
}
inline void Device::declare(const Buffer&, const simulator::BufferUse&) {}
inline std::vector<simulator::SanitizerFinding> Device::findings() { return {}; }

/// Throws DeviceError (kBadLaunch) unless the geometry is possible on the device and the arguments have the
/// kernel's number and sizes. Every provider calls it first: a launch that one device refuses is refused by
/// all.
void check_launch(const Properties& properties, const Kernel& kernel, const Geometry& geometry,
                  std::span<const ArgumentValue> arguments);

/// The part of it that is known before the values are: their number and the bytes of each.
void check_arguments(const Kernel& kernel, std::span<const std::uint32_t> given);

}  // namespace mhcheck::runtime
