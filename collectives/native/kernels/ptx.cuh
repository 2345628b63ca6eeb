// SPDX-License-Identifier: Apache-2.0
// The machine instructions of kernels: on a GPU one instruction each, on a CPU simt.h's version.
// The rest of the kernels is the same code on both.
#pragma once

#include "arguments.h"

#ifndef __CUDACC__
#include "simt.h"
#else

// A kernel: its name, the most threads of a block, and its parameters.
#define RAILGAUGE_KERNEL(name, threads, ...) \
  extern "C" __global__ void __launch_bounds__(threads, 1) name(__VA_ARGS__)

struct __half;
struct __nv_bfloat16;

namespace railgauge::gpu {

inline constexpr int kWarp = 32;                            // threads
constexpr int crew_of(int warps) { return warps * kWarp; }  // threads that work together
inline constexpr unsigned kTurns =
    4096;  // of a wait, between looks at the host's memory and the clock

// To be called first: waits until the previous kernels on the stream have ended; this one may be
// prepared meanwhile, which takes a microsecond (programmatic dependent launch), and has its
// parameters in the processor's cache.
template <class Parameters>
__device__ void begin_kernel(const Parameters& parameters) {
#if __CUDA_ARCH__ >= 900
  constexpr unsigned kLine = 64 / sizeof(unsigned);
  const auto* const words = reinterpret_cast<const unsigned*>(&parameters);
  unsigned all = 0;
#pragma unroll
  for (unsigned i = 0; i < sizeof(Parameters) / sizeof(unsigned); i += kLine) all ^= words[i];
  // Loads are made only if something depends on them: a rest of a nanosecond, by chance.
  asm volatile("{.reg .pred p; setp.eq.u32 p, %0, 1; @p nanosleep.u32 1;}" ::"r"(all));
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// Waits until that many threads of the block have reached one of its barriers.
__device__ inline void meet_at(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Words that other GPUs and the host read and write.
__device__ inline std::uint32_t load_acquire(const std::uint32_t* word) {
  std::uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
// Writes of this thread, and of those it shared a barrier with, are visible before the word.
__device__ inline void store_release(std::uint32_t* word, std::uint32_t value) {
  asm volatile("fence.acq_rel.sys; st.relaxed.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value)
               : "memory");
}
__device__ inline std::uint64_t load_relaxed(const std::uint64_t* word) {
  std::uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
__device__ inline void store_relaxed(std::uint64_t* word, std::uint64_t value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
__device__ inline std::uint32_t load_relaxed(const std::uint32_t* word) {
  return *static_cast<const volatile std::uint32_t*>(word);
}
__device__ inline void store_relaxed(std::uint32_t* word, std::uint32_t value) {
  *static_cast<volatile std::uint32_t*>(word) = value;
}

// The same between the threads of a block, in its shared memory.
__device__ inline std::uint32_t load_acquire_here(const std::uint32_t* word) {
  std::uint32_t value;
  asm volatile("ld.acquire.cta.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
__device__ inline void store_release_here(std::uint32_t* word, std::uint32_t value) {
  asm volatile("st.release.cta.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

__device__ inline Sixteen load_sixteen(const void* from) {
  Sixteen value;
  asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(value.first), "=l"(value.second)
               : "l"(from)
               : "memory");
  return value;
}
__device__ inline void store_sixteen(void* to, Sixteen value) {
  asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(value.first),
               "l"(value.second)
               : "memory");
}

// A place in a line of 128 bytes, which its threads in a warp move together: a reader that sees the
// last one's word sees all.
__device__ inline Sixteen load_line(const char* line, int place) {
  return load_sixteen(line + place * sizeof(Sixteen));
}
__device__ inline void store_line(char* line, int place, Sixteen value) {
  store_sixteen(line + place * sizeof(Sixteen), value);
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
// Multicast addresses (transports/native/cuda/multicast.h) take these accesses alone. A sum is that
// of all memories' elements, added as floats and rounded once; a store goes to all of them.
#define RAILGAUGE_LOAD_SUM(T, suffix)                                                          \
  __device__ inline uint4 load_sum(const T* from) {                                            \
    uint4 sum;                                                                                 \
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add" suffix " {%0, %1, %2, %3}, [%4];" \
                 : "=r"(sum.x), "=r"(sum.y), "=r"(sum.z), "=r"(sum.w)                          \
                 : "l"(from)                                                                   \
                 : "memory");                                                                  \
    return sum;                                                                                \
  }
RAILGAUGE_LOAD_SUM(float, ".v4.f32")
RAILGAUGE_LOAD_SUM(__half, ".acc::f32.v4.f16x2")
RAILGAUGE_LOAD_SUM(__nv_bfloat16, ".acc::f32.v4.bf16x2")
#undef RAILGAUGE_LOAD_SUM
__device__ inline void store_to_all(void* to, uint4 value) {
  asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to),
               "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}
// Between accesses to the same memory by its own address and by its multicast address.
__device__ inline void order_addresses() { asm volatile("fence.proxy.alias;" ::: "memory"); }
#endif

// In every turn of a wait.
__device__ inline void wait_a_turn() {}

__device__ inline bool any_of_warp(bool one) { return __any_sync(0xffffffff, one); }

__device__ inline std::uint64_t now_ns() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
  return ns;
}

}  // namespace railgauge::gpu

#endif
