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
  begin_kernel(a);
  LowLatency<T>(a).run();
}
RAILGAUGE_KERNEL(full_lines, kLineCrew, const __grid_constant__ Arguments a) {
  begin_kernel(a);
  FullLines<T>(a).run();
}
RAILGAUGE_KERNEL(push, kPushThreads, const __grid_constant__ Arguments a) {
  begin_kernel(a);
  __shared__ PushShared shared;
  Push<T>(a, shared).run();
}
RAILGAUGE_KERNEL(ring, kRingThreads, const __grid_constant__ ChannelArguments a) {
  begin_kernel(a);
  __shared__ int stop;
  Ring<T>(a, stop).run();
}
RAILGAUGE_KERNEL(tree, kTreeThreads, const __grid_constant__ ChannelArguments a) {
  begin_kernel(a);
  __shared__ int stops[2];
  tree<T>(a, stops);
}
RAILGAUGE_KERNEL(registered, kRegisteredThreads, const __grid_constant__ RegisteredArguments a) {
  begin_kernel(a);
  __shared__ RegisteredShared shared;
  registered<T>(a, shared);
}
// to[i] = from[i] * factor, whose value is rounded to the type, as the products are.
RAILGAUGE_KERNEL(scale, kLineCrew, T* to, const T* from, std::size_t count, double factor) {
  begin_kernel(to);
  const auto by = gpu::widen(gpu::narrow<T>(static_cast<wide<T>>(factor)));
  const Crew all{0, static_cast<int>(gridDim.x * blockDim.x),
                 static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x)};
  T* const targets[] = {to};
  each_word<T, 2>(all, is_aligned(to) && is_aligned(from), count, [&](auto held, std::size_t at) {
    held.load(all, from, at);
    for (auto& pack : held.pack)
      for (T& element : pack.element) element = gpu::narrow<T>(gpu::widen(element) * by);
    held.store(all, targets, 1, at);
  });
}
