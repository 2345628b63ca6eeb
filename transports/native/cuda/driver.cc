// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/driver.h"

#include <dlfcn.h>

#include <cstdlib>

namespace railgauge::cuda {

namespace {

constexpr const char* kLibrary = "libcuda.so.1";

template <class Member>
void resolve(void* library, const char* symbol, Member& member) {
  void* found = dlsym(library, symbol);
  if (!found) {
    throw Error(ErrorCode::kSystem,
                std::string(kLibrary) + " has no " + symbol + ": the driver is too old");
  }
  member = reinterpret_cast<Member>(found);
}

}  // namespace

const Driver& Driver::get() {
  static const Driver driver;
  return driver;
}

Driver::Driver() {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library) throw Error(ErrorCode::kSystem, std::string("no NVIDIA driver: ") + dlerror());
#define RAILGAUGE_CUDA_RESOLVE(name, symbol, parameters) resolve(library, #symbol, name);
  RAILGAUGE_CUDA_FUNCTIONS(RAILGAUGE_CUDA_RESOLVE)
#undef RAILGAUGE_CUDA_RESOLVE
#define RAILGAUGE_CUDA_FIND(name, symbol, parameters) \
  name = reinterpret_cast<decltype(name)>(dlsym(library, #symbol));
  RAILGAUGE_CUDA_MULTICAST_FUNCTIONS(RAILGAUGE_CUDA_FIND)
#undef RAILGAUGE_CUDA_FIND
  context_event = reinterpret_cast<decltype(context_event)>(dlsym(library, "cuCtxRecordEvent"));
  memory_handle =
      reinterpret_cast<decltype(memory_handle)>(dlsym(library, "cuMemGetHandleForAddressRange"));
  brings_kernels = dlsym(library, "railgauge_kernels");
  const Result result = init(0);
  if (result == kNoDevice) {
    const char* visible = getenv("CUDA_VISIBLE_DEVICES");
    throw Error(ErrorCode::kSystem,
                std::string("CUDA finds no GPU for this process (CUDA_ERROR_NO_DEVICE): ") +
                    (visible ? std::string("CUDA_VISIBLE_DEVICES is \"") + visible +
                                   "\": are these numbers of `nvidia-smi -L`?"
                             : "`nvidia-smi -L` lists those of the machine; a container has to be "
                               "given them"));
  }
  check(result, "starting the NVIDIA driver");
}

void Driver::check(Result result, const std::string& what) const {
  if (result == 0) return;
  const char *name = nullptr, *text = nullptr;
  error_name(result, &name);
  error_text(result, &text);
  throw Error(ErrorCode::kSystem, what + ": " + (name ? name : std::to_string(result)) +
                                      (text ? std::string(": ") + text : ""));
}

}  // namespace railgauge::cuda
