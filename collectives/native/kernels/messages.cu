// SPDX-License-Identifier: Apache-2.0
// The kernel of sends and receives. It moves bytes, without an element type.
#include "messages.cuh"

using namespace railgauge::gpu;

RAILGAUGE_KERNEL(messages, kMessageThreads, const __grid_constant__ MessageArguments a) {
  begin_kernel(a);
  __shared__ MessageShared shared;
  messages(a, shared);
}
