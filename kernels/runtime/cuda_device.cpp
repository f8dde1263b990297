#include "kernels/runtime/cuda_device.h"

#include <fmt/format.h>

#include <deque>

#include "kernels/codeobject/demangle.h"
#include "kernels/codeobject/find_kernel.h"
#include "kernels/runtime/driver_device.h"
#include "kernels/runtime/shared_library.h"

namespace mhcheck::runtime {
namespace {

constexpr std::string_view kAdvice = "install an NVIDIA driver for CUDA 12.4 or newer (550 or newer)";

// CUdevice_attribute of cuda.h.
enum Attribute {
  kMaxThreadsPerBlock = 1,
  kMaxGridX = 5,
  kMaxGridY = 6,
  kMaxGridZ = 7,
  kMaxSharedMemoryPerBlock = 8,
  kWarpSize = 10,
  kMultiprocessorCount = 16,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
};

constexpr int kInvalidValue = 1;

class CudaApi : public DriverApi {
 public:
  explicit CudaApi(std::span<const std::string> libraries) : library_(libraries, kAdvice) {}

  std::string describe(int error) const override {
    const char* text = nullptr;
    if (error_string_(error, &text) != 0 || text == nullptr) text = "unknown error";
    return fmt::format("CUDA error {}: {}", error, text);
  }
  int allocate(std::uint64_t* address, std::size_t size) override { return malloc_(address, size); }
  int free(std::uint64_t address) override { return free_(address); }
  int copy_to_device(std::uint64_t target, std::span<const std::byte> source) override {
    return copy_to_(target, source.data(), source.size());
  }
  int copy_from_device(std::span<std::byte> target, std::uint64_t source) override {
    return copy_from_(target.data(), source, target.size());
  }
  int load_module(void** module, const void* image) override { return load_(module, image); }
  int unload_module(void* module) override { return unload_(module); }
  int find_function(void** function, void* module, const char* name) override {
    return function_(function, module, name);
  }
  int launch(void* function, const Geometry& geometry, void** arguments) override {
    const auto narrow = [](std::uint64_t value) { return static_cast<unsigned>(value); };
    return launch_(function, narrow(geometry.grid[0]), narrow(geometry.grid[1]), narrow(geometry.grid[2]),
                   narrow(geometry.block[0]), narrow(geometry.block[1]), narrow(geometry.block[2]),
                   narrow(geometry.dynamic_lds_bytes), /*stream=*/nullptr, arguments, /*extra=*/nullptr);
  }
  int query() override { return stream_query_(/*stream=*/nullptr); }

  int init() { return init_(0); }
  int device_count(int* count) { return device_count_(count); }
  int device(int* handle, int ordinal) { return device_(handle, ordinal); }
  // The context stays retained to the end of the process.
  void make_current(int device) {
    void* context = nullptr;
    check(*this, retain_(&context, device), "retaining the GPU's context");
    check(*this, set_current_(context), "selecting the GPU's context");
  }
  std::string device_name(int device) {
    char name[256] = {};
    check(*this, device_name_(name, sizeof(name) - 1, device), "asking for the GPU's name");
    return name;
  }
  int attribute(Attribute attribute, int device) {
    int value = 0;
    check(*this, attribute_(&value, attribute, device), "asking for the GPU's limits");
    return value;
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
  SharedLibrary library_;
  int (*init_)(unsigned) = library_.symbol<int(unsigned)>("cuInit");
  int (*device_count_)(int*) = library_.symbol<int(int*)>("cuDeviceGetCount");
  int (*device_)(int*, int) = library_.symbol<int(int*, int)>("cuDeviceGet");
  int (*device_name_)(char*, int, int) = library_.symbol<int(char*, int, int)>("cuDeviceGetName");
  int (*attribute_)(int*, int, int) = library_.symbol<int(int*, int, int)>("cuDeviceGetAttribute");
  int (*retain_)(void**, int) = library_.symbol<int(void**, int)>("cuDevicePrimaryCtxRetain");
  int (*set_current_)(void*) = library_.symbol<int(void*)>("cuCtxSetCurrent");
  int (*error_string_)(int, const char**) = library_.symbol<int(int, const char**)>("cuGetErrorString");
  int (*malloc_)(std::uint64_t*,
                 std::size_t) = library_.symbol<int(std::uint64_t*, std::size_t)>("cuMemAlloc_v2");
  int (*free_)(std::uint64_t) = library_.symbol<int(std::uint64_t)>("cuMemFree_v2");
  int (*copy_to_)(std::uint64_t, const void*, std::size_t) =
      library_.symbol<int(std::uint64_t, const void*, std::size_t)>("cuMemcpyHtoD_v2");
  int (*copy_from_)(void*, std::uint64_t,
                    std::size_t) = library_.symbol<int(void*, std::uint64_t, std::size_t)>("cuMemcpyDtoH_v2");
  int (*load_)(void**, const void*) = library_.symbol<int(void**, const void*)>("cuModuleLoadData");
  int (*unload_)(void*) = library_.symbol<int(void*)>("cuModuleUnload");
  int (*function_)(void**, void*,
                   const char*) = library_.symbol<int(void**, void*, const char*)>("cuModuleGetFunction");
  int (*function_count_)(unsigned*,
                         void*) = library_.symbol<int(unsigned*, void*)>("cuModuleGetFunctionCount");
  int (*enumerate_)(void**, unsigned,
                    void*) = library_.symbol<int(void**, unsigned, void*)>("cuModuleEnumerateFunctions");
  int (*function_name_)(const char**, void*) = library_.symbol<int(const char**, void*)>("cuFuncGetName");
  using ParameterInfo = int(void*, std::size_t, std::size_t*, std::size_t*);
  ParameterInfo* parameter_info_ = library_.symbol<ParameterInfo>("cuFuncGetParamInfo");
  using Launch = int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                     void**, void**);
  Launch* launch_ = library_.symbol<Launch>("cuLaunchKernel");
  int (*stream_query_)(void*) = library_.symbol<int(void*)>("cuStreamQuery");
};

class CudaModule : public Module {
 public:
  CudaModule(std::shared_ptr<CudaApi> api, std::span<const std::byte> file, std::string origin)
      : api_(std::move(api)), origin_(std::move(origin)) {
    // PTX is text, and the driver looks for the zero byte at its end.
    std::vector<std::byte> image(file.begin(), file.end());
    image.push_back(std::byte{0});
    check(*api_, api_->load_module(&module_, image.data()), fmt::format("{}: loading it", origin_));
    for (void* function : api_->functions(module_)) {
      const std::string name = api_->function_name(function);
      kernels_.emplace_back(codeobject::demangle(name), function, api_->argument_sizes(function, name));
      names_.push_back({name, codeobject::demangle(name)});
    }
  }
  ~CudaModule() override {
    if (!api_->abandoned()) (void)api_->unload_module(module_);
  }
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;

  const Kernel& find_kernel(std::string_view pattern) const override {
    return kernels_[codeobject::find_kernel(names_, pattern, origin_)];
  }

 private:
  std::shared_ptr<CudaApi> api_;
  std::string origin_;
  void* module_ = nullptr;
  std::deque<DriverKernel> kernels_;
  std::vector<codeobject::KernelNames> names_;
};

class CudaDevice : public DriverDevice {
 public:
  CudaDevice(std::shared_ptr<CudaApi> api, Properties properties, std::chrono::milliseconds patience)
      : DriverDevice(api, std::move(properties), patience), cuda_(std::move(api)) {}

  std::unique_ptr<Module> load(std::span<const std::byte> file, const std::string& origin) override {
    return std::make_unique<CudaModule>(cuda_, file, origin);
  }

 private:
  std::shared_ptr<CudaApi> cuda_;
};

}  // namespace

std::unique_ptr<Device> open_cuda(const CudaOptions& options) {
  auto api = std::make_shared<CudaApi>(options.libraries);
  int count = 0;
  int error = api->init();
  if (error == 0) error = api->device_count(&count);
  if (error != 0 || options.device >= count) {
    throw DeviceError(
        Failure::kUnavailable,
        fmt::format("CUDA finds {} GPUs, so there is no GPU {} ({}): check the NVIDIA driver and "
                    "CUDA_VISIBLE_DEVICES",
                    count, options.device, error != 0 ? api->describe(error) : "no error"));
  }
  int device = 0;
  check(*api, api->device(&device, options.device), fmt::format("opening GPU {}", options.device));
  api->make_current(device);
  const auto limit = [&](Attribute attribute) {
    return static_cast<std::uint32_t>(api->attribute(attribute, device));
  };
  Properties properties{
      .name = api->device_name(device),
      .target = fmt::format("sm_{}{}", limit(kComputeCapabilityMajor), limit(kComputeCapabilityMinor)),
      .num_cus = api->attribute(kMultiprocessorCount, device),
      .wave_size = api->attribute(kWarpSize, device),
      .max_workgroup_size = limit(kMaxThreadsPerBlock),
      .max_lds_bytes = limit(kMaxSharedMemoryPerBlock),
      .max_grid = {limit(kMaxGridX), limit(kMaxGridY), limit(kMaxGridZ)}};
  return std::make_unique<CudaDevice>(std::move(api), std::move(properties), options.patience);
}

}  // namespace mhcheck::runtime
