#include "kernels/runtime/hip_device.h"

#include <fmt/format.h>

#include "kernels/codeobject/code_object.h"
#include "kernels/runtime/driver_device.h"

namespace mhcheck::runtime {
namespace {

constexpr DriverNames kNames{
    .runtime = "HIP",
    .install = "install the HIP runtime (Debian package libamdhip64-5, or ROCm from repo.radeon.com)",
    .no_gpu = "the amdgpu driver, /dev/kfd and HIP_VISIBLE_DEVICES",
    .init = "hipInit",
    .device_count = "hipGetDeviceCount",
    .device_name = "hipDeviceGetName",
    .attribute = "hipDeviceGetAttribute",
    .allocate = "hipMalloc",
    .free = "hipFree",
    .copy_to_device = "hipMemcpyHtoD",
    .copy_from_device = "hipMemcpyDtoH",
    .load_module = "hipModuleLoadData",
    .unload_module = "hipModuleUnload",
    .launch = "hipModuleLaunchKernel",
    .query = "hipStreamQuery",
    // hipDeviceAttribute_t of hip_runtime_api.h: the same numbers in HIP 5.2 and 7.
    .max_threads_per_block = 56,
    .max_grid = {29, 30, 31},
    .multiprocessor_count = 63,
    .max_shared_memory_per_block = 74,
    .warp_size = 87,
};

class HipApi : public DriverApi {
 public:
  explicit HipApi(std::span<const std::string> libraries) : DriverApi(kNames, libraries) {}

  std::string describe(int error) const override {
    return fmt::format("HIP error {}: {}", error, error_string_(error));
  }
  int find_function(void** function, void* module, const char* name) {
    return function_(function, module, name);
  }

 private:
  int select(int device) override {
    check(*this, set_device_(device), fmt::format("selecting GPU {}", device));
    return device;
  }

  const char* (*error_string_)(int) = library().symbol<const char*(int)>("hipGetErrorString");
  int (*set_device_)(int) = library().symbol<int(int)>("hipSetDevice");
  int (*function_)(void**, void*,
                   const char*) = library().symbol<int(void**, void*, const char*)>("hipModuleGetFunction");
};

// HIP cannot list a module's kernels, nor their arguments: our own reading of the code objects does.
std::unique_ptr<Module> load(const std::shared_ptr<HipApi>& api, std::span<const std::byte> file,
                             const std::string& origin) {
  auto loaded = std::make_unique<DriverModule>(api, origin);
  for (const codeobject::CodeObject& object : codeobject::parse_code_objects(file, origin)) {
    void* const module = loaded->add_image(object.file().data());
    for (const codeobject::Kernel& kernel : object.kernels()) {
      void* function = nullptr;
      check(*api, api->find_function(&function, module, kernel.name.c_str()),
            fmt::format("{}: finding kernel {}", object.origin(), kernel.name));
      std::vector<std::uint32_t> sizes;
      for (const codeobject::Argument& argument : kernel.explicit_arguments()) sizes.push_back(argument.size);
      loaded->add_kernel({kernel.name, kernel.demangled}, function, std::move(sizes));
    }
  }
  return loaded;
}

}  // namespace

std::unique_ptr<Device> open_hip(const HipOptions& options) {
  auto api = std::make_shared<HipApi>(options.libraries);
  Properties properties = api->open(options.device);
  properties.target = codeobject::kTarget;
  return std::make_unique<DriverDevice>(
      api, std::move(properties), options.patience,
      [api](std::span<const std::byte> file, const std::string& origin) { return load(api, file, origin); });
}

}  // namespace mhcheck::runtime
