// SPDX-License-Identifier: Apache-2.0
// Words by which ranks tell each other how far they are, and the waits for them.
#pragma once

#include "arguments.h"

namespace railgauge::gpu {

// To be called first: until the kernels before on the stream have ended, whatever they wrote; the
// next one may be got ready meanwhile, which takes a microsecond (programmatic dependent launch).
__device__ inline void begin_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

__device__ inline std::uint32_t load_acquire(const std::uint32_t* word) {
  std::uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

// What this thread, and those it met at a barrier, have written is there before the word.
__device__ inline void store_release(std::uint32_t* word, std::uint32_t value) {
  asm volatile("fence.acq_rel.sys; st.relaxed.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value)
               : "memory");
}

__device__ inline std::uint64_t now_ns() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
  return ns;
}

// Ends waits: the host said so, or a wait took too long, on this rank.
class Patience {
 public:
  __device__ Patience(const Base& base) : status_(base.status), timeout_ns_(base.timeout_ns) {}

  // Whether to go on waiting for a rank; to be called in every turn of a wait.
  __device__ bool goes_on(int rank) {
    if (++turns_ % 4096) return true;
    volatile Status* status = status_;
    if (status->abort || status->failed) return false;
    if (!began_) began_ = now_ns();
    if (now_ns() - began_ < timeout_ns_) return true;
    status->failed = 1 + rank;
    return false;
  }

 private:
  Status* status_;
  std::uint64_t timeout_ns_, began_ = 0;
  unsigned turns_ = 0;
};

// Until a counter has reached a value; false where the wait was ended.
__device__ inline bool await(const std::uint32_t* word, std::uint32_t value, int rank,
                             Patience& patience) {
  while (static_cast<std::int32_t>(load_acquire(word) - value) < 0) {
    if (!patience.goes_on(rank)) return false;
  }
  return true;
}

}  // namespace railgauge::gpu
