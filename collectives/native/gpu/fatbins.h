// SPDX-License-Identifier: Apache-2.0
// The compiled kernels as they were built in: one fatbin for each element type, and one of copies.
#pragma once

#include "collectives/native/dtype.h"

namespace railgauge::gpu {

// Each is null where the build had no nvcc.
const void* fatbin(Dtype dtype);
const void* copy_fatbin();

}  // namespace railgauge::gpu
