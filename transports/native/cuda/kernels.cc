// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/kernels.h"

#include "transports/native/cuda/waiting.h"

namespace railgauge::cuda {

Kernels::Kernels(Context context, const void* image, const std::string& what) : context_(context) {
  if (!image)
    throw Error(ErrorCode::kSystem, "this build has no GPU kernels: it was built without nvcc");
  const Current current(context_);
  Driver::get().check(Driver::get().module_load(&module_, image), "loading the kernels " + what);
}

Kernels::~Kernels() {
  if (const Closing gpu(context_); gpu) Driver::get().module_unload(module_);
}

Function Kernels::function(const std::string& name) const {
  const Driver& cuda = Driver::get();
  Function found = nullptr;
  cuda.check(cuda.module_function(&found, module_, name.c_str()), "finding the kernel " + name);
  return found;
}

}  // namespace railgauge::cuda
