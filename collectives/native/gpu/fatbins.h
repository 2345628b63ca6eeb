// SPDX-License-Identifier: Apache-2.0
// The compiled kernels as they were built in: a fatbin for each element type, one that makes and
// checks data, one of copies, one of messages, and one that adds up on NVSwitches (from sm_90 on).
#pragma once

#include "collectives/native/dtype.h"

namespace railgauge::gpu {

// Each is null where the build had no nvcc; Error (kSystem) if then there is no driver either.
const void* fatbin(Dtype dtype);
const void* copy_fatbin();
const void* message_fatbin();
const void* nvls_fatbin();
const void* pattern_fatbin();

}  // namespace railgauge::gpu
