// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/nccl_plugin/process.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

namespace railgauge::nccl_plugin {
namespace {

int keep_nccl(dl_phdr_info* object, std::size_t, void* path) {
  if (!object->dlpi_name || !strstr(object->dlpi_name, "/libnccl.so")) return 0;
  *static_cast<const char**>(path) = object->dlpi_name;
  return 1;
}

// What a function of the driver writes about the GPU of the current context.
void ask_driver(const char* function, char* text, std::size_t bytes) {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!driver) return;
  const auto device_of = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuCtxGetDevice"));
  const auto write = reinterpret_cast<int (*)(char*, int, int)>(dlsym(driver, function));
  int device;
  if (device_of && write && !device_of(&device)) write(text, static_cast<int>(bytes), device);
  dlclose(driver);
}

}  // namespace

std::uint32_t nccl_release() {
  void* symbol = dlsym(RTLD_DEFAULT, "ncclGetVersion");
  const char* path = nullptr;
  if (!symbol && dl_iterate_phdr(keep_nccl, &path))
    if (void* library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD)) {
      symbol = dlsym(library, "ncclGetVersion");
      dlclose(library);
    }
  int version = 0;
  if (symbol) reinterpret_cast<int (*)(int*)>(symbol)(&version);
  return version;
}

void gpu_bus_id(char* text, std::size_t bytes) { ask_driver("cuDeviceGetPCIBusId", text, bytes); }

void gpu_name(char* text, std::size_t bytes) { ask_driver("cuDeviceGetName", text, bytes); }

}  // namespace railgauge::nccl_plugin
