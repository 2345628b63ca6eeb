// SPDX-License-Identifier: Apache-2.0
// The ranks of an exchange, one after another.
#pragma once

#include "arguments.h"
#include "ptx.cuh"

namespace railgauge::gpu {

// How many ranks a thread reads from, or writes to, at once: what a wait for memory costs is then
// paid once for all of them.
inline constexpr int kTogether = 4;
static_assert(kMostRanks % kTogether == 0);

// The rank so many steps behind one: each rank begins with another one. Fewer steps than ranks.
__device__ inline int peer_at(int rank, int step, int ranks) {
  return rank + step < ranks ? rank + step : rank + step - ranks;
}

}  // namespace railgauge::gpu
