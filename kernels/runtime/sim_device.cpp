#include "kernels/runtime/sim_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <list>
#include <new>
#include <utility>

#include "kernels/codeobject/code_object.h"
#include "kernels/codeobject/find_kernel.h"
#include "kernels/codeobject/source_lines.h"
#include "kernels/runtime/kernel_arguments.h"
#include "kernels/simulator/fault.h"
#include "kernels/simulator/sanitizers/watcher.h"

namespace mhcheck::runtime {
namespace {

constexpr std::uint64_t kImageAlignment = 4096;

// hsa_kernel_dispatch_packet_t (HSA System Architecture, "Kernel dispatch packet"), as dispatch_ptr kernels
// read it.
struct DispatchPacket {
  std::uint16_t header;
  std::uint16_t setup;  // dimensions
  std::uint16_t workgroup_size[3];
  std::uint16_t reserved0;
  std::uint32_t grid_size[3];  // work-items
  std::uint32_t private_segment_size;
  std::uint32_t group_segment_size;
  std::uint64_t kernel_object;
  std::uint64_t kernarg_address;
  std::uint64_t reserved2;
  std::uint64_t completion_signal;
};
static_assert(sizeof(DispatchPacket) == 64);

// A code object in device memory.
struct LoadedObject {
  LoadedObject(const codeobject::CodeObject& object, simulator::Memory& target);
  ~LoadedObject() { memory.free(address); }
  LoadedObject(const LoadedObject&) = delete;
  LoadedObject& operator=(const LoadedObject&) = delete;

  simulator::Memory& memory;
  std::uint64_t address = 0;
  std::unique_ptr<simulator::Program> program;
};

LoadedObject::LoadedObject(const codeobject::CodeObject& object, simulator::Memory& target) : memory(target) {
  std::vector<codeobject::Segment> code;
  std::copy_if(object.segments().begin(), object.segments().end(), std::back_inserter(code),
               [](const codeobject::Segment& segment) { return segment.executable; });
  if (code.size() > 1) {
    throw codeobject::CodeObjectError(
        codeobject::Reason::kUnsupported,
        fmt::format("{}: {} executable segments, must be one", object.origin(), code.size()));
  }
  address = memory.allocate(object.image_size(), "code object " + object.origin(),
                            std::max(kImageAlignment, object.image_alignment()));
  const std::vector<std::byte> image = object.image_at(address);
  memory.write(address, image);
  if (!code.empty()) {
    program = std::make_unique<simulator::Program>(std::span(image).subspan(code[0].address, code[0].size),
                                                   address + code[0].address);
    const auto lines = std::make_shared<codeobject::SourceLines>(object.file());
    program->set_file(address, [lines](std::uint64_t place) { return lines->at(place); });
  }
}

class SimKernel : public Kernel {
 public:
  SimKernel(codeobject::Kernel info, const LoadedObject& object) : info_(std::move(info)), object_(object) {
    for (const codeobject::Argument& argument : info_.explicit_arguments()) sizes_.push_back(argument.size);
  }
  const std::string& name() const override { return info_.demangled; }
  const std::vector<std::uint32_t>& argument_sizes() const override { return sizes_; }

  const codeobject::Kernel& info() const { return info_; }
  const LoadedObject& object() const { return object_; }
  std::uint64_t descriptor_address() const { return object_.address + info_.descriptor_address; }

  simulator::KernelState state() const {
    const codeobject::KernelDescriptor& descriptor = info_.descriptor;
    return {.name = info_.demangled,
            .entry_address = object_.address + info_.entry_address,
            .group_segment_bytes = descriptor.group_segment_fixed_size,
            .private_segment_bytes = descriptor.private_segment_fixed_size,
            .kernarg_bytes = descriptor.kernarg_size,
            .rsrc1 = descriptor.compute_pgm_rsrc1,
            .rsrc2 = descriptor.compute_pgm_rsrc2,
            .rsrc3 = descriptor.compute_pgm_rsrc3,
            .code_properties = descriptor.kernel_code_properties,
            .kernarg_preload = descriptor.kernarg_preload};
  }

 private:
  codeobject::Kernel info_;
  const LoadedObject& object_;
  std::vector<std::uint32_t> sizes_;
};

class SimModule : public Module {
 public:
  SimModule(const std::vector<codeobject::CodeObject>& objects, std::string origin, simulator::Memory& memory)
      : origin_(std::move(origin)) {
    for (const codeobject::CodeObject& object : objects) {
      const LoadedObject& loaded = objects_.emplace_back(object, memory);
      for (const codeobject::Kernel& kernel : object.kernels()) {
        kernels_.emplace_back(kernel, loaded);
        names_.push_back({kernel.name, kernel.demangled});
      }
    }
  }

  const Kernel& find_kernel(std::string_view pattern) const override {
    return kernels_[codeobject::find_kernel(names_, pattern, origin_)];
  }

 private:
  std::string origin_;
  std::list<LoadedObject> objects_;
  std::deque<SimKernel> kernels_;
  std::vector<codeobject::KernelNames> names_;
};

class SimDevice : public Device {
 public:
  explicit SimDevice(const simulator::Options& options) : options_(options) {
    // AMD Instinct MI355X; the grid limits are those that HIP documents for it.
    properties_ = {.name = "gfx950 simulator",
                   .target = std::string(codeobject::kTarget),
                   .num_cus = 256,
                   .wave_size = 64,
                   .max_workgroup_size = 1024,
                   .max_lds_bytes = 160 * 1024,
                   .max_grid = {0x7fffffff, 65535, 65535}};
  }

  const Properties& properties() const override { return properties_; }

  std::unique_ptr<Module> load(std::span<const std::byte> file, const std::string& origin) override {
    auto module = std::make_unique<SimModule>(codeobject::parse_code_objects(file, origin), origin, memory_);
    watch_allocations();
    return module;
  }

  Buffer allocate(std::uint64_t size, const std::string& name) override {
    try {
      const std::uint64_t address = memory_.allocate(size, name);
      if (watcher_) watcher_->allocated(address, size, name);
      return {*this, address, size, name};
    } catch (const std::bad_alloc&) {
      throw DeviceError(Failure::kNoMemory, fmt::format("{}: no room for {} bytes", name, size));
    }
  }
  void upload(const Buffer& buffer, std::span<const std::byte> source) override {
    memory_.write(buffer.address(), source);
    if (watcher_) watcher_->uploaded(buffer.address(), source.size());
  }
  void download(const Buffer& buffer, std::span<std::byte> target) override {
    memory_.read(buffer.address(), target);
  }
  // An access outside every buffer has already faulted.
  std::string guard_damage(const Buffer&) override { return {}; }

  void launch(const Kernel& kernel, const Geometry& geometry,
              std::span<const ArgumentValue> arguments) override;

  Counters wait() override { return std::exchange(counters_, {}); }

  void instrument(const Instrumentation& wanted) override {
    if (wanted.schedule) options_.seed = *wanted.schedule;
    watcher_ = wanted.sanitizers.empty() ? nullptr : std::make_unique<simulator::Watcher>(wanted.sanitizers);
    options_.watcher = watcher_.get();
    watch_allocations();
  }
  void declare(const Buffer& buffer, const simulator::BufferUse& use) override {
    if (watcher_) watcher_->declare(buffer.address(), use);
  }
  std::vector<simulator::SanitizerFinding> findings() override {
    if (!watcher_) return {};
    watcher_->check_outputs();
    return watcher_->take_findings();
  }

 protected:
  void release(std::uint64_t address) noexcept override {
    memory_.free(address);
    if (watcher_) watcher_->freed(address);
  }

 private:
  void watch_allocations();
  void check_kernel_limits(const SimKernel& kernel, const Geometry& geometry) const;
  void count(const simulator::Counters& counters);

  simulator::Options options_;
  Properties properties_;
  simulator::Memory memory_;
  std::unique_ptr<simulator::Watcher> watcher_;  // null unless a sanitizer is on
  Counters counters_;
};

// Tells the sanitizers of allocations that the loader made, or that are older than they are. Their content is
// whatever was put there.
void SimDevice::watch_allocations() {
  if (!watcher_) return;
  memory_.for_each([&](const simulator::Allocation& allocation) {
    if (watcher_->knows(allocation.address)) return;
    watcher_->allocated(allocation.address, allocation.size, allocation.name);
    watcher_->uploaded(allocation.address, allocation.size);
  });
}

void SimDevice::check_kernel_limits(const SimKernel& kernel, const Geometry& geometry) const {
  const codeobject::Kernel& info = kernel.info();
  const std::uint64_t work_items = geometry.block[0] * geometry.block[1] * geometry.block[2];
  if (work_items > info.max_workgroup_size) {
    throw DeviceError(Failure::kBadLaunch,
                      fmt::format("{}: a block of {} work-items, the kernel was compiled for at most {} "
                                  "(__launch_bounds__)",
                                  kernel.name(), work_items, info.max_workgroup_size));
  }
  if (info.required_workgroup_size &&
      !std::equal(geometry.block.begin(), geometry.block.end(), info.required_workgroup_size->begin())) {
    const auto& [x, y, z] = *info.required_workgroup_size;
    throw DeviceError(Failure::kBadLaunch,
                      fmt::format("{}: the block must be {} x {} x {}", kernel.name(), x, y, z));
  }
  const std::uint64_t lds = info.descriptor.group_segment_fixed_size + geometry.dynamic_lds_bytes;
  if (lds > properties_.max_lds_bytes) {
    throw DeviceError(Failure::kBadLaunch,
                      fmt::format("{}: {} bytes of static and {} of dynamic LDS, a workgroup has {}",
                                  kernel.name(), info.descriptor.group_segment_fixed_size,
                                  geometry.dynamic_lds_bytes, properties_.max_lds_bytes));
  }
}

void SimDevice::launch(const Kernel& kernel, const Geometry& geometry,
                       std::span<const ArgumentValue> arguments) {
  const auto& sim_kernel = dynamic_cast<const SimKernel&>(kernel);
  check_launch(properties_, kernel, geometry, arguments);
  check_kernel_limits(sim_kernel, geometry);

  simulator::Dispatch dispatch;
  std::copy(geometry.grid.begin(), geometry.grid.end(), dispatch.grid.begin());
  std::copy(geometry.block.begin(), geometry.block.end(), dispatch.block.begin());
  dispatch.dynamic_lds_bytes = static_cast<std::uint32_t>(geometry.dynamic_lds_bytes);

  const std::vector<std::byte> kernarg = build_kernel_arguments(sim_kernel.info(), geometry, arguments);
  // Compilers load arguments in powers of two, beyond the last one: a runtime's segments fill whole cache
  // lines of 64.
  constexpr std::uint64_t kLine = 64;
  const Buffer kernarg_buffer =
      allocate((kernarg.size() + kLine - 1) / kLine * kLine, "kernel arguments of " + kernel.name());
  declare(kernarg_buffer, {.role = simulator::BufferRole::kInput, .element_bytes = 1, .extents = {}});
  upload(kernarg_buffer, kernarg);
  dispatch.kernarg_address = kernarg_buffer.address();

  const codeobject::KernelDescriptor& descriptor = sim_kernel.info().descriptor;
  DispatchPacket packet{};
  packet.setup = 3;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    packet.workgroup_size[axis] = static_cast<std::uint16_t>(geometry.block[axis]);
    packet.grid_size[axis] = static_cast<std::uint32_t>(geometry.grid[axis] * geometry.block[axis]);
  }
  packet.private_segment_size = descriptor.private_segment_fixed_size;
  packet.group_segment_size =
      descriptor.group_segment_fixed_size + static_cast<std::uint32_t>(geometry.dynamic_lds_bytes);
  packet.kernel_object = sim_kernel.descriptor_address();
  packet.kernarg_address = kernarg_buffer.address();
  const Buffer packet_buffer = allocate(sizeof(packet), "dispatch packet of " + kernel.name());
  upload(packet_buffer, std::as_bytes(std::span(&packet, 1)));
  dispatch.dispatch_packet_address = packet_buffer.address();

  try {
    const simulator::LaunchResult result =
        simulator::launch(memory_, *sim_kernel.object().program, sim_kernel.state(), dispatch, options_);
    count(result.counters);
  } catch (const simulator::UnknownInstruction& fault) {
    throw DeviceError(Failure::kUnsupported, fault.what());
  } catch (const simulator::BudgetExceeded& fault) {
    throw DeviceError(Failure::kBudget, fault.what());
  } catch (const simulator::Deadlock& fault) {
    throw DeviceError(Failure::kDeadlock, fault.what());
  } catch (const simulator::Fault& fault) {
    throw DeviceError(Failure::kFault, fault.what());
  } catch (const std::invalid_argument& error) {
    throw DeviceError(Failure::kBadLaunch, error.what());
  }
}

void SimDevice::count(const simulator::Counters& counters) {
  const std::pair<std::string_view, std::uint64_t> values[] = {
      {"salu", counters.salu},
      {"smem", counters.smem},
      {"valu", counters.valu},
      {"mfma", counters.mfma},
      {"vmem", counters.vmem},
      {"lds", counters.lds},
      {"branch", counters.branch},
      {"other", counters.other},
      {"instructions", counters.instructions()},
      {"memory_bytes_read", counters.memory_bytes_read},
      {"memory_bytes_written", counters.memory_bytes_written},
      {"lds_bytes_read", counters.lds_bytes_read},
      {"lds_bytes_written", counters.lds_bytes_written},
      {"cache_lines", counters.cache_lines},
      {"lds_bank_conflicts", counters.lds_bank_conflicts},
      {"workgroups", counters.workgroups},
      {"waves", counters.waves},
  };
  for (const auto& [name, value] : values) counters_[std::string(name)] += value;
  if (watcher_) counters_["buffer_lanes_clamped"] += counters.buffer_lanes_clamped;
}

}  // namespace

std::unique_ptr<Device> open_sim(const simulator::Options& options) {
  return std::make_unique<SimDevice>(options);
}

}  // namespace mhcheck::runtime
