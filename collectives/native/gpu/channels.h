// SPDX-License-Identifier: Apache-2.0
// The channels of the plan as this rank's kernels read them, in memory of its GPU.
#pragma once

#include <vector>

#include "collectives/native/gpu/staging_buffers.h"
#include "collectives/native/kernels/arguments.h"
#include "transports/native/cuda/memory.h"

namespace railgauge::gpu {

// A channel of the plan: the ring's ranks in order, and by rank its parent in the tree (-1: root).
struct PlannedChannel {
  std::vector<int> ring, parents;
};

class Channels {
 public:
  // On a GPU by CUDA's number, after StagingBuffers::open(). Error (kInvalid): a channel without
  // all ranks, or a tree with too many children.
  Channels(int device, int rank, const StagingBuffers& buffers,
           const std::vector<PlannedChannel>& planned);

  const std::vector<PlannedChannel>& planned() const { return planned_; }
  int count() const { return static_cast<int>(planned_.size()); }
  const Channel* on_gpu() const { return reinterpret_cast<const Channel*>(memory_.pointer()); }

 private:
  std::vector<PlannedChannel> planned_;
  cuda::Memory memory_;  // a Channel each, then their orders
};

}  // namespace railgauge::gpu
