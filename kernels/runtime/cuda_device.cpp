#include "kernels/runtime/cuda_device.h"

#include <fmt/format.h>

#include "kernels/codeobject/demangle.h"
#include "kernels/runtime/driver_device.h"

namespace mhcheck::runtime {
namespace {

constexpr DriverNames kNames{
    .runtime = "CUDA",
    .install = "install an NVIDIA driver for CUDA 12.4 or newer (550 or newer)",
    .no_gpu = "the NVIDIA driver and CUDA_VISIBLE_DEVICES",
    .init = "cuInit",
    .device_count = "cuDeviceGetCount",
    .device_name = "cuDeviceGetName",
    .attribute = "cuDeviceGetAttribute",
    .allocate = "cuMemAlloc_v2",
    .free = "cuMemFree_v2",
    .copy_to_device = "cuMemcpyHtoD_v2",
    .copy_from_device = "cuMemcpyDtoH_v2",
    .load_module = "cuModuleLoadData",
    .unload_module = "cuModuleUnload",
    .launch = "cuLaunchKernel",
    .query = "cuStreamQuery",
    // CUdevice_attribute of cuda.h.
    .max_threads_per_block = 1,
    .max_grid = {5, 6, 7},
    .multiprocessor_count = 16,
    .max_shared_memory_per_block = 8,
    .warp_size = 10,
};
constexpr int kComputeCapabilityMajor = 75;
constexpr int kComputeCapabilityMinor = 76;

constexpr int kInvalidValue = 1;

class CudaApi : public DriverApi {
 public:
  explicit CudaApi(std::span<const std::string> libraries) : DriverApi(kNames, libraries) {}

  std::string describe(int error) const override {
    const char* text = nullptr;
    if (error_string_(error, &text) != 0 || text == nullptr) text = "unknown error";
    return fmt::format("CUDA error {}: {}", error, text);
  }
  // "sm_90"; of the GPU that is open.
  std::string target() {
    return fmt::format("sm_{}{}", attribute(kComputeCapabilityMajor, handle_),
                       attribute(kComputeCapabilityMinor, handle_));
  }
  std::vector<void*> functions(void* module) {
    unsigned count = 0;
    check(*this, function_count_(&count, module), "counting kernels");
    std::vector<void*> all(count);
    if (count != 0) check(*this, enumerate_(all.data(), count, module), "listing kernels");
    return all;
  }
  std::string function_name(void* function) {
    const char* name = nullptr;
    check(*this, function_name_(&name, function), "asking for a kernel's name");
    return name;
  }
  std::vector<std::uint32_t> argument_sizes(void* function, const std::string& name) {
    std::vector<std::uint32_t> sizes;
    for (;;) {
      std::size_t offset = 0, size = 0;
      const int error = parameter_info_(function, sizes.size(), &offset, &size);
      if (error == kInvalidValue) return sizes;  // past the last one
      check(*this, error, fmt::format("asking for the arguments of {}", name));
      sizes.push_back(static_cast<std::uint32_t>(size));
    }
  }

 private:
  // The context stays retained to the end of the process.
  int select(int device) override {
    check(*this, device_(&handle_, device), fmt::format("opening GPU {}", device));
    void* context = nullptr;
    check(*this, retain_(&context, handle_), "retaining the GPU's context");
    check(*this, set_current_(context), "selecting the GPU's context");
    return handle_;
  }

  int handle_ = 0;
  int (*device_)(int*, int) = library().symbol<int(int*, int)>("cuDeviceGet");
  int (*retain_)(void**, int) = library().symbol<int(void**, int)>("cuDevicePrimaryCtxRetain");
  int (*set_current_)(void*) = library().symbol<int(void*)>("cuCtxSetCurrent");
  int (*error_string_)(int, const char**) = library().symbol<int(int, const char**)>("cuGetErrorString");
  int (*function_count_)(unsigned*,
                         void*) = library().symbol<int(unsigned*, void*)>("cuModuleGetFunctionCount");
  int (*enumerate_)(void**, unsigned,
                    void*) = library().symbol<int(void**, unsigned, void*)>("cuModuleEnumerateFunctions");
  int (*function_name_)(const char**, void*) = library().symbol<int(const char**, void*)>("cuFuncGetName");
  using ParameterInfo = int(void*, std::size_t, std::size_t*, std::size_t*);
  ParameterInfo* parameter_info_ = library().symbol<ParameterInfo>("cuFuncGetParamInfo");
};

std::unique_ptr<Module> load(const std::shared_ptr<CudaApi>& api, std::span<const std::byte> file,
                             const std::string& origin) {
  auto loaded = std::make_unique<DriverModule>(api, origin);
  // PTX is text, and the driver looks for the zero byte at its end.
  std::vector<std::byte> image(file.begin(), file.end());
  image.push_back(std::byte{0});
  for (void* function : api->functions(loaded->add_image(image.data()))) {
    const std::string name = api->function_name(function);
    loaded->add_kernel({name, codeobject::demangle(name)}, function, api->argument_sizes(function, name));
  }
  return loaded;
}

}  // namespace

std::unique_ptr<Device> open_cuda(const CudaOptions& options) {
  auto api = std::make_shared<CudaApi>(options.libraries);
  Properties properties = api->open(options.device);
  properties.target = api->target();
  return std::make_unique<DriverDevice>(
      api, std::move(properties), options.patience,
      [api](std::span<const std::byte> file, const std::string& origin) { return load(api, file, origin); });
}

}  // namespace mhcheck::runtime
