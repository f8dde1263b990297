// A HIP runtime without a GPU, to hold the provider's use of it to account: memory is the host's, and a few
// kernels of probe.hip are played by hand. Only what the provider opens is here.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>

namespace {

constexpr int kRunning = 600;
int state = 0;  // what hipStreamQuery returns
std::map<std::string, std::string> functions;

struct Free {
  void operator()(void* pointer) const { std::free(pointer); }
};
std::map<void*, std::unique_ptr<void, Free>> memory;  // a real driver too takes back what a process leaves

}  // namespace

extern "C" {

int hipInit(unsigned) {
  state = 0;
  return 0;
}
int hipGetDeviceCount(int* count) {
  *count = 1;
  return 0;
}
int hipSetDevice(int device) { return device == 0 ? 0 : 101; }
int hipDeviceGetName(char* name, int size, int) {
  std::strncpy(name, "fake GPU", static_cast<std::size_t>(size));
  return 0;
}
int hipDeviceGetAttribute(int* value, int attribute, int) {
  const std::map<int, int> values = {{56, 1024}, {29, 2147483647}, {30, 65535}, {31, 65535},
                                     {63, 256},  {74, 163840},     {87, 64}};
  const auto found = values.find(attribute);
  if (found == values.end()) return 1;
  *value = found->second;
  return 0;
}
const char* hipGetErrorString(int error) {
  return error == 700 ? "an illegal memory access was encountered" : "other";
}
int hipMalloc(void** pointer, std::size_t size) {
  if (size > (std::size_t{1} << 40)) return 2;
  *pointer = std::aligned_alloc(256, (size + 255) / 256 * 256);
  if (*pointer == nullptr) return 2;
  memory.try_emplace(*pointer, *pointer);
  return 0;
}
// A driver waits for running kernels before it gives anything back: here, where one never ends, the test
// ends.
int hipFree(void* pointer) {
  if (state == kRunning) std::abort();
  memory.erase(pointer);
  return 0;
}
int hipMemcpyHtoD(void* target, void* source, std::size_t size) {
  std::memcpy(target, source, size);
  return 0;
}
int hipMemcpyDtoH(void* target, void* source, std::size_t size) {
  std::memcpy(target, source, size);
  return 0;
}
int hipModuleLoadData(void** module, const void* image) {
  if (std::memcmp(image, "\177ELF", 4) != 0) return 200;
  *module = const_cast<void*>(image);
  return 0;
}
int hipModuleUnload(void*) {
  if (state == kRunning) std::abort();
  return 0;
}
int hipModuleGetFunction(void** function, void*, const char* name) {
  *function = &functions.try_emplace(name, name).first->second;
  return 0;
}
int hipModuleLaunchKernel(void* function, unsigned grid, unsigned, unsigned, unsigned block, unsigned,
                          unsigned, unsigned, void*, void** arguments, void**) {
  const std::string& name = *static_cast<std::string*>(function);
  int* const values = *static_cast<int**>(arguments[0]);
  state = 0;
  if (name == "add_one") {
    const int count = *static_cast<int*>(arguments[1]);
    for (unsigned i = 0; i < grid * block; ++i) {
      if (static_cast<int>(i) < count) values[i] += 1;
    }
  } else if (name == "write_past_end") {
    values[*static_cast<int*>(arguments[1])] = 1;
  } else if (name == "never_ends") {
    state = kRunning;
  } else if (name == "trap") {
    state = 700;
  } else {
    return 98;
  }
  return 0;
}
int hipStreamQuery(void*) { return state; }
}
