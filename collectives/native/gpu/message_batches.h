// SPDX-License-Identifier: Apache-2.0
// The sends and receives that a rank starts together, in the order of the kernels that run them.
// Pure arithmetic; no GPU is needed for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/native/kernels/arguments.h"

namespace railgauge::gpu {

// A send or receive of a rank, with a peer that is not itself.
struct GpuMessage {
  bool sends;
  int peer;
  std::byte* data;
  std::size_t bytes;
  std::uint32_t tag;
};

// One kernel's: by queue its messages in order.
using MessageBatch = std::vector<std::vector<GpuMessage>>;

// Batches of what a kernel takes. Of each direction with each peer, the messages stay in order; all
// first ones come before all second ones, and among these, those over a shorter distance in the
// numbers of ranks come first. As every rank goes by this order, and a batch ends with the send and
// the receive over one distance, no ranks that start alike wait for each other in a circle.
std::vector<MessageBatch> in_batches(const std::vector<GpuMessage>& messages, int rank, int ranks);

}  // namespace railgauge::gpu
