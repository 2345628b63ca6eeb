// SPDX-License-Identifier: Apache-2.0
// Kernels that were built in, loaded into a GPU.
#pragma once

#include <string>

#include "transports/native/cuda/driver.h"

namespace railgauge::cuda {

class Kernels {
 public:
  // `what` they are for, in messages. Error (kSystem): no image, or none for this GPU.
  Kernels(Context context, const void* image, const std::string& what);
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  // In the GPU's context. Error (kSystem): there is none of that name.
  Function function(const std::string& name) const;

 private:
  Context context_;
  Module module_ = nullptr;
};

}  // namespace railgauge::cuda
