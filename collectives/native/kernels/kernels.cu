// SPDX-License-Identifier: Apache-2.0
// The kernels of one element type, RAILGAUGE_ELEMENT; a fatbin for each (CMakeLists.txt).
#include "full_lines.cuh"
#include "low_latency.cuh"
#include "push.cuh"
#include "registered.cuh"
#include "ring.cuh"
#include "tree.cuh"

using namespace railgauge;
using namespace railgauge::gpu;
using T = RAILGAUGE_ELEMENT;

constexpr int kLineCrew = crew_of(16);  // of kernels that take any number of threads

RAILGAUGE_KERNEL(low_latency, kLineCrew, const __grid_constant__ Arguments a) {
  begin_kernel();
  LowLatency<T>(a).run();
}
RAILGAUGE_KERNEL(full_lines, kLineCrew, const __grid_constant__ Arguments a) {
  begin_kernel();
  FullLines<T>(a).run();
}
RAILGAUGE_KERNEL(push, kPushThreads, const __grid_constant__ Arguments a) {
  begin_kernel();
  __shared__ PushShared shared;
  push<T>(a, shared);
}
RAILGAUGE_KERNEL(ring, kRingThreads, const __grid_constant__ ChannelArguments a) {
  begin_kernel();
  __shared__ int stop;
  Ring<T>(a, stop).run();
}
RAILGAUGE_KERNEL(tree, kTreeThreads, const __grid_constant__ ChannelArguments a) {
  begin_kernel();
  __shared__ int stops[2];
  tree<T>(a, stops);
}
RAILGAUGE_KERNEL(registered, kRegisteredThreads, const __grid_constant__ RegisteredArguments a) {
  begin_kernel();
  __shared__ RegisteredShared shared;
  registered<T>(a, shared);
}
