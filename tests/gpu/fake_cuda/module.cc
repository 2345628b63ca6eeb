// SPDX-License-Identifier: Apache-2.0
// Modules, whose images are names (collectives/native/gpu/fatbins.cc), and launches of their
// kernels.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "fake.h"
#include "kernels.h"

namespace railgauge::cuda {

struct CUmod_st {
  std::string name;
};

namespace {

Kernel* of(Function function) { return reinterpret_cast<Kernel*>(function); }

}  // namespace

extern "C" {

extern const int railgauge_kernels = 1;  // it has them (Driver::brings_kernels)

Result cuModuleLoadData(Module* module, const void* image) {
  RAILGAUGE_FAULT();
  *module = new CUmod_st{static_cast<const char*>(image)};
  return kSuccess;
}

Result cuModuleUnload(Module module) {
  delete module;
  return kSuccess;
}

Result cuModuleGetFunction(Function* function, Module module, const char* name) {
  RAILGAUGE_FAULT();
  const Kernel* found = kernel(module->name, name);
  *function = reinterpret_cast<Function>(const_cast<Kernel*>(found));
  return found ? kSuccess : kNotFound;
}

Result cuLaunchKernel(Function function, unsigned blocks, unsigned, unsigned, unsigned threads,
                      unsigned, unsigned, unsigned, Stream stream, void** parameters, void**) {
  const Kernel& kernel = *of(function);  // there for good
  if (const std::string file = setting("FAKE_CUDA_LAUNCHES"); !file.empty()) {
    std::ofstream(file, std::ios::app) << std::to_string(device_of(current_context())) + ' ' +
                                              kernel.name + ' ' + std::to_string(blocks) + ' ' +
                                              std::to_string(under_way(stream)) + '\n';
  }
  Result told = fault("cuLaunchKernel");
  if (!told) told = fault(("launch:" + kernel.name).c_str());
  static std::atomic<int> late{0};
  if (told == kLate) told = late++ ? kHang : kSuccess;
  if (told == kHang) {
    return put(stream, [file = setting("FAKE_CUDA_HANG")] {
      do {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      } while (file.empty() || !access(file.c_str(), F_OK));
    });
  }
  if (told && told != kCorrupt) return told;
  // The middle of what `copy` copies, whose parameters are: to, from, and how much.
  char* const wrong =
      told ? *static_cast<char**>(parameters[0]) + *static_cast<std::size_t*>(parameters[2]) / 2
           : nullptr;
  return put(stream, [=, &kernel, bound = kernel.bind(parameters)] {
    run(bound, blocks, std::min(threads, kernel.threads));
    if (wrong) *wrong ^= 1;
  });
}

Result cuLaunchKernelEx(const LaunchConfig* config, Function function, void** parameters,
                        void** extra) {
  return cuLaunchKernel(function, config->grid[0], 1, 1, config->block[0], 1, 1, 0, config->stream,
                        parameters, extra);
}

}  // extern "C"

}  // namespace railgauge::cuda
