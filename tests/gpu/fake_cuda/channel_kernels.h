// SPDX-License-Identifier: Apache-2.0
// What ring and tree come to: one block that moves all there is on the first channel.
#pragma once

#include "collectives/native/dtype.h"
#include "collectives/native/kernels/arguments.h"

namespace railgauge::gpu {

// Each returns when this rank's part is done, or its wait was ended as `arguments.base` says.
void run_ring(const ChannelArguments& arguments, Dtype dtype, Redop op);
void run_tree(const ChannelArguments& arguments, Dtype dtype, Redop op);

}  // namespace railgauge::gpu
