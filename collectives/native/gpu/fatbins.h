// SPDX-License-Identifier: Apache-2.0
// The compiled kernels as they were built in: a fatbin for each element type, and one for all that
// makes and checks data.
#pragma once

#include "collectives/native/dtype.h"

namespace railgauge::gpu {

// Null where the build had no nvcc.
const void* fatbin(Dtype dtype);
const void* pattern_fatbin();

}  // namespace railgauge::gpu
