// SPDX-License-Identifier: Apache-2.0
// all_reduce by NVSwitches (NCCL: NVLS), on symmetric memory with a multicast address: a rank loads
// the sum of its part, which they make of all memories, and stores it to all of them. What the last
// bits of a sum are, they decide.
#pragma once

#include "part.cuh"
#include "registered.cuh"

namespace railgauge::gpu {

// The sums of whole words of 16 bytes.
template <class T>
__device__ void store_sums(const T* from, T* to, std::size_t count) {
  constexpr int kElements = sizeof(Vector) / sizeof(T);
  const std::size_t step = std::size_t(kRegisteredThreads) * kElements;
  std::size_t at = std::size_t(threadIdx.x) * kElements;
#pragma unroll 1
  for (; at + (kAhead - 1) * step < count; at += kAhead * step) {
    Vector held[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) held[i] = load_sum(from + at + i * step);
#pragma unroll
    for (int i = 0; i < kAhead; ++i) store_to_all(to + at + i * step, held[i]);
  }
#pragma unroll 1
  for (; at < count; at += step) store_to_all(to + at, load_sum(from + at));
}

template <class T>
__device__ void nvls(const RegisteredArguments& a, RegisteredShared& shared) {
  RegisteredBarrier barrier(a);
  if (!barrier.begin(shared)) return;
  const BlockPart<T> from(a.own, a.reduce_count, 0), to(a.result, a.reduce_count, 0);
  order_addresses();
  store_sums(from.chunk(0), to.chunk(0), from.count(0));
  order_addresses();
  barrier.end();
}

}  // namespace railgauge::gpu
