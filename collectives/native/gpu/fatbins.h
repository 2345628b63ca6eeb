// SPDX-License-Identifier: Apache-2.0
// The compiled kernels, one fatbin for each element type, as they were built in.
#pragma once

#include "collectives/native/dtype.h"

namespace railgauge::gpu {

// Null where the build had no nvcc.
const void* fatbin(Dtype dtype);

}  // namespace railgauge::gpu
