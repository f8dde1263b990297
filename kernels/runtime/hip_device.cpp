#include "kernels/runtime/hip_device.h"

#include <fmt/format.h>

#include <deque>

#include "kernels/codeobject/code_object.h"
#include "kernels/codeobject/find_kernel.h"
#include "kernels/runtime/driver_device.h"
#include "kernels/runtime/shared_library.h"

namespace mhcheck::runtime {
namespace {

constexpr std::string_view kAdvice =
    "install the HIP runtime (Debian package libamdhip64-5, or ROCm from repo.radeon.com)";

// hipDeviceAttribute_t of hip_runtime_api.h: the same numbers in HIP 5.2 and 7.
enum Attribute {
  kMaxThreadsPerBlock = 56,
  kMaxGridX = 29,
  kMaxGridY = 30,
  kMaxGridZ = 31,
  kMultiprocessorCount = 63,
  kMaxSharedMemoryPerBlock = 74,
  kWarpSize = 87,
};

// The entry points used, by their names in the library.
class HipApi : public DriverApi {
 public:
  explicit HipApi(std::span<const std::string> libraries) : library_(libraries, kAdvice) {}

  std::string describe(int error) const override {
    return fmt::format("HIP error {}: {}", error, error_string_(error));
  }
  int allocate(std::uint64_t* address, std::size_t size) override {
    void* pointer = nullptr;
    const int error = malloc_(&pointer, size);
    *address = reinterpret_cast<std::uint64_t>(pointer);
    return error;
  }
  int free(std::uint64_t address) override { return free_(pointer_to(address)); }
  int copy_to_device(std::uint64_t target, std::span<const std::byte> source) override {
    return copy_to_(pointer_to(target), const_cast<std::byte*>(source.data()), source.size());
  }
  int copy_from_device(std::span<std::byte> target, std::uint64_t source) override {
    return copy_from_(target.data(), pointer_to(source), target.size());
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
  int select(int device) { return set_device_(device); }
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

 private:
  static void* pointer_to(std::uint64_t address) { return reinterpret_cast<void*>(address); }

  SharedLibrary library_;
  int (*init_)(unsigned) = library_.symbol<int(unsigned)>("hipInit");
  int (*device_count_)(int*) = library_.symbol<int(int*)>("hipGetDeviceCount");
  int (*set_device_)(int) = library_.symbol<int(int)>("hipSetDevice");
  int (*device_name_)(char*, int, int) = library_.symbol<int(char*, int, int)>("hipDeviceGetName");
  int (*attribute_)(int*, int, int) = library_.symbol<int(int*, int, int)>("hipDeviceGetAttribute");
  const char* (*error_string_)(int) = library_.symbol<const char*(int)>("hipGetErrorString");
  int (*malloc_)(void**, std::size_t) = library_.symbol<int(void**, std::size_t)>("hipMalloc");
  int (*free_)(void*) = library_.symbol<int(void*)>("hipFree");
  int (*copy_to_)(void*, void*,
                  std::size_t) = library_.symbol<int(void*, void*, std::size_t)>("hipMemcpyHtoD");
  int (*copy_from_)(void*, void*,
                    std::size_t) = library_.symbol<int(void*, void*, std::size_t)>("hipMemcpyDtoH");
  int (*load_)(void**, const void*) = library_.symbol<int(void**, const void*)>("hipModuleLoadData");
  int (*unload_)(void*) = library_.symbol<int(void*)>("hipModuleUnload");
  int (*function_)(void**, void*,
                   const char*) = library_.symbol<int(void**, void*, const char*)>("hipModuleGetFunction");
  using Launch = int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                     void**, void**);
  Launch* launch_ = library_.symbol<Launch>("hipModuleLaunchKernel");
  int (*stream_query_)(void*) = library_.symbol<int(void*)>("hipStreamQuery");
};

// HIP cannot list a module's kernels, nor their arguments: our own reading of the code objects does.
class HipModule : public Module {
 public:
  HipModule(std::shared_ptr<HipApi> api, const std::vector<codeobject::CodeObject>& objects,
            std::string origin)
      : api_(std::move(api)), origin_(std::move(origin)) {
    for (const codeobject::CodeObject& object : objects) add(object);
  }
  ~HipModule() override {
    if (api_->abandoned()) return;
    for (void* module : modules_) (void)api_->unload_module(module);
  }
  HipModule(const HipModule&) = delete;
  HipModule& operator=(const HipModule&) = delete;

  const Kernel& find_kernel(std::string_view pattern) const override {
    return kernels_[codeobject::find_kernel(names_, pattern, origin_)];
  }

 private:
  void add(const codeobject::CodeObject& object) {
    void* module = nullptr;
    check(*api_, api_->load_module(&module, object.file().data()),
          fmt::format("{}: loading it", object.origin()));
    modules_.push_back(module);
    for (const codeobject::Kernel& kernel : object.kernels()) {
      void* function = nullptr;
      check(*api_, api_->find_function(&function, module, kernel.name.c_str()),
            fmt::format("{}: finding kernel {}", object.origin(), kernel.name));
      std::vector<std::uint32_t> sizes;
      for (const codeobject::Argument& argument : kernel.explicit_arguments()) sizes.push_back(argument.size);
      kernels_.emplace_back(kernel.demangled, function, std::move(sizes));
      names_.push_back({kernel.name, kernel.demangled});
    }
  }

  std::shared_ptr<HipApi> api_;
  std::string origin_;
  std::vector<void*> modules_;
  std::deque<DriverKernel> kernels_;
  std::vector<codeobject::KernelNames> names_;
};

class HipDevice : public DriverDevice {
 public:
  HipDevice(std::shared_ptr<HipApi> api, Properties properties, std::chrono::milliseconds patience)
      : DriverDevice(api, std::move(properties), patience), hip_(std::move(api)) {}

  std::unique_ptr<Module> load(std::span<const std::byte> file, const std::string& origin) override {
    return std::make_unique<HipModule>(hip_, codeobject::parse_code_objects(file, origin), origin);
  }

 private:
  std::shared_ptr<HipApi> hip_;
};

}  // namespace

std::unique_ptr<Device> open_hip(const HipOptions& options) {
  auto api = std::make_shared<HipApi>(options.libraries);
  int count = 0;
  int error = api->init();
  if (error == 0) error = api->device_count(&count);
  if (error != 0 || options.device >= count) {
    throw DeviceError(
        Failure::kUnavailable,
        fmt::format("HIP finds {} GPUs, so there is no GPU {} ({}): check the amdgpu driver, /dev/kfd and "
                    "HIP_VISIBLE_DEVICES",
                    count, options.device, error != 0 ? api->describe(error) : "no error"));
  }
  check(*api, api->select(options.device), fmt::format("selecting GPU {}", options.device));
  const auto limit = [&](Attribute attribute) {
    return static_cast<std::uint32_t>(api->attribute(attribute, options.device));
  };
  Properties properties{.name = api->device_name(options.device),
                        .target = std::string(codeobject::kTarget),
                        .num_cus = api->attribute(kMultiprocessorCount, options.device),
                        .wave_size = api->attribute(kWarpSize, options.device),
                        .max_workgroup_size = limit(kMaxThreadsPerBlock),
                        .max_lds_bytes = limit(kMaxSharedMemoryPerBlock),
                        .max_grid = {limit(kMaxGridX), limit(kMaxGridY), limit(kMaxGridZ)}};
  return std::make_unique<HipDevice>(std::move(api), std::move(properties), options.patience);
}

}  // namespace mhcheck::runtime
