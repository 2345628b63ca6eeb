// SPDX-License-Identifier: Apache-2.0
// The kernels of NVLS, for each type that NVSwitches add up, by the names of dtype.h. They are
// compiled for sm_90 and later alone (CMakeLists.txt).
#include "element.cuh"
#include "nvls.cuh"

using namespace railgauge;
using namespace railgauge::gpu;

#define KERNEL_OF(name, T)                                          \
  RAILGAUGE_KERNEL(nvls_##name, kRegisteredThreads,                 \
                   const __grid_constant__ RegisteredArguments a) { \
    begin_kernel(a);                                                \
    __shared__ RegisteredShared shared;                             \
    nvls<T>(a, shared);                                             \
  }
KERNEL_OF(half, Float16)
KERNEL_OF(bfloat16, Bfloat16)
KERNEL_OF(float, float)
