// SPDX-License-Identifier: Apache-2.0
// The kernels of one element type, RAILGAUGE_ELEMENT; a fatbin for each (CMakeLists.txt).
#include "full_lines.cuh"
#include "low_latency.cuh"
#include "push.cuh"
#include "registered.cuh"
#include "ring.cuh"
#include "tree.cuh"

using namespace railgauge::gpu;

#define KERNELS(name, Op)                                                \
  extern "C" __global__ void __launch_bounds__(512)                      \
      low_latency_##name(const __grid_constant__ Arguments a) {          \
    begin_kernel();                                                      \
    low_latency<RAILGAUGE_ELEMENT, Op>(a);                               \
  }                                                                      \
  extern "C" __global__ void __launch_bounds__(512)                      \
      full_lines_##name(const __grid_constant__ Arguments a) {           \
    begin_kernel();                                                      \
    FullLines<RAILGAUGE_ELEMENT>(a).run<Op>();                           \
  }                                                                      \
  extern "C" __global__ void __launch_bounds__(kPushThreads)             \
      push_##name(const __grid_constant__ Arguments a) {                 \
    begin_kernel();                                                      \
    __shared__ PushShared shared;                                        \
    push<RAILGAUGE_ELEMENT, Op>(a, shared);                              \
  }                                                                      \
  extern "C" __global__ void __launch_bounds__(kRingThreads)             \
      ring_##name(const __grid_constant__ ChannelArguments a) {          \
    begin_kernel();                                                      \
    __shared__ int stop;                                                 \
    ring<RAILGAUGE_ELEMENT, Op>(a, stop);                                \
  }                                                                      \
  extern "C" __global__ void __launch_bounds__(kTreeThreads)             \
      tree_##name(const __grid_constant__ ChannelArguments a) {          \
    begin_kernel();                                                      \
    __shared__ int stops[2];                                             \
    tree<RAILGAUGE_ELEMENT, Op>(a, stops);                               \
  }                                                                      \
  extern "C" __global__ void __launch_bounds__(kRegisteredThreads, 1)    \
      registered_##name(const __grid_constant__ RegisteredArguments a) { \
    begin_kernel();                                                      \
    __shared__ RegisteredShared shared;                                  \
    registered<RAILGAUGE_ELEMENT, Op>(a, shared);                        \
  }
KERNELS(sum, Sum)
KERNELS(prod, Prod)
KERNELS(min, Min)
KERNELS(max, Max)
