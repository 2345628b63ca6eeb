// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/native/dtype.h"
#include "collectives/native/kernels/arguments.h"

namespace railgauge::gpu {

// Returns when this rank's part is done, or its wait was ended as `arguments.base` says.
void run_exchange(const Arguments& arguments, Dtype dtype, Redop op);

}  // namespace railgauge::gpu
