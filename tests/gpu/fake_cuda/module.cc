// SPDX-License-Identifier: Apache-2.0
// Modules, whose images are only looked at for whose they are, and launches of their kernels.
#include <dlfcn.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "fake.h"
#include "kernels.h"

namespace railgauge::cuda {

struct CUmod_st {
  std::optional<Dtype> dtype;
};
struct CUfunc_st {
  std::string name;
  const Kernel* kernel;
  std::optional<Dtype> dtype;
};

namespace {

// The element type whose kernels an image has: who loads it says so by railgauge::gpu::fatbin()
// (collectives/native/gpu/fatbins.h).
std::optional<Dtype> dtype_of(const void* image) {
  Dl_info info;
  if (!dladdr(image, &info)) return std::nullopt;
  void* library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  using Fatbin = const void* (*)(Dtype);
  const auto fatbin =
      reinterpret_cast<Fatbin>(dlsym(library, "_ZN9railgauge3gpu6fatbinENS_5DtypeE"));
  for (int dtype = 0; fatbin && dtype < kDtypes; ++dtype) {
    if (fatbin(static_cast<Dtype>(dtype)) == image) return static_cast<Dtype>(dtype);
  }
  return std::nullopt;
}

}  // namespace

extern "C" {

Result cuModuleLoadData(Module* module, const void* image) {
  RAILGAUGE_FAULT();
  *module = new CUmod_st{dtype_of(image)};
  return kSuccess;
}

Result cuModuleUnload(Module module) {
  delete module;
  return kSuccess;
}

Result cuModuleGetFunction(Function* function, Module module, const char* name) {
  RAILGAUGE_FAULT();
  const Kernel* found = kernel(name);
  if (!found) return kNotFound;
  static std::mutex mutex;
  static std::map<std::pair<const Kernel*, std::optional<Dtype>>, CUfunc_st> all;
  const std::lock_guard lock(mutex);
  *function =
      &all.try_emplace({found, module->dtype}, CUfunc_st{name, found, module->dtype}).first->second;
  return kSuccess;
}

Result cuLaunchKernel(Function function, unsigned blocks, unsigned, unsigned, unsigned, unsigned,
                      unsigned, unsigned, Stream stream, void** parameters, void**) {
  if (const std::string file = setting("FAKE_CUDA_LAUNCHES"); !file.empty()) {
    std::ofstream(file, std::ios::app) << std::to_string(device_of(current_context())) + ' ' +
                                              function->name + ' ' + std::to_string(blocks) + ' ' +
                                              std::to_string(under_way(stream)) + '\n';
  }
  Result told = fault("cuLaunchKernel");
  if (!told) told = fault(("launch:" + function->name).c_str());
  if (told == kHang) {
    return put(stream, [file = setting("FAKE_CUDA_HANG")] {
      do {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      } while (file.empty() || !access(file.c_str(), F_OK));
    });
  }
  return told ? told : put(stream, (*function->kernel)(function->dtype, parameters));
}

Result cuLaunchKernelEx(const LaunchConfig* config, Function function, void** parameters,
                        void** extra) {
  return cuLaunchKernel(function, config->grid[0], 1, 1, 1, 1, 1, 0, config->stream, parameters,
                        extra);
}

}  // extern "C"

}  // namespace railgauge::cuda
