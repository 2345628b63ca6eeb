// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/nvls.h"

#include "collectives/native/gpu/fatbins.h"
#include "transports/native/cuda/gpu.h"
#include "transports/native/cuda/kernels.h"
#include "transports/native/cuda/multicast.h"

namespace railgauge::gpu {

std::string why_no_nvls(int device) {
  try {
    const std::string why = cuda::why_no_multicast(device);
    if (!why.empty()) return why;
    const cuda::Gpu gpu(device);
    cuda::Kernels(gpu.context(), nvls_fatbin(), "of NVLS");  // an older GPU has none
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace railgauge::gpu
