// SPDX-License-Identifier: Apache-2.0
// Every function of the list, for those that no other file has.
#include "fake.h"

namespace railgauge::cuda {

#define RAILGAUGE_UNSUPPORTED(name, symbol, parameters) \
  extern "C" __attribute__((weak)) Result symbol parameters { return kNotSupported; }
RAILGAUGE_CUDA_FUNCTIONS(RAILGAUGE_UNSUPPORTED)

}  // namespace railgauge::cuda
