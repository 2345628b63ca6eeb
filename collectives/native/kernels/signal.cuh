// SPDX-License-Identifier: Apache-2.0
// Words with which ranks signal their progress, and the waits for them.
#pragma once

#include "arguments.h"
#include "ptx.cuh"

namespace railgauge::gpu {

// Ends waits: on the host's request, or after a timeout without progress of this thread, on this
// rank.
class Patience {
 public:
  __device__ Patience(const Base& base) : status_(base.status), timeout_ns_(base.timeout_ns) {}

  // Whether to continue waiting for a rank; to be called in every turn of a wait.
  __device__ bool goes_on(int rank) {
    wait_a_turn();
    if (++turns_ % kTurns) return true;
    if (is_over()) return false;
    if (!began_) began_ = now_ns();
    if (now_ns() - began_ < timeout_ns_) return true;
    store_relaxed(&status_->failed, 1u + rank);
    return false;
  }
  // The same for other threads of the block, which have their own timeout.
  __device__ bool goes_on() {
    wait_a_turn();
    return ++turns_ % kTurns || !is_over();
  }
  // The wait succeeded: the next one has the full timeout.
  __device__ void came() { began_ = 0; }

 private:
  __device__ bool is_over() const {
    return load_relaxed(&status_->abort) || load_relaxed(&status_->failed);
  }

  Status* status_;
  std::uint64_t timeout_ns_, began_ = 0;
  unsigned turns_ = 0;
};

// Waits until a counter has reached a value; false if the wait was ended.
__device__ inline bool await(const std::uint32_t* word, std::uint32_t value, int rank,
                             Patience& patience) {
  while (static_cast<std::int32_t>(load_acquire(word) - value) < 0) {
    if (!patience.goes_on(rank)) return false;
  }
  patience.came();
  return true;
}
// The same of a counter in the block's shared memory.
__device__ inline bool await_here(const std::uint32_t* word, std::uint32_t value,
                                  Patience& patience) {
  while (load_acquire_here(word) < value) {
    if (!patience.goes_on()) return false;
  }
  return true;
}

}  // namespace railgauge::gpu
