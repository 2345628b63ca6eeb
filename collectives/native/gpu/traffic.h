// SPDX-License-Identifier: Apache-2.0
// Bytes between a rank and the others, counted as operations are put on streams.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/native/gpu/channels.h"
#include "collectives/native/gpu/message_batches.h"
#include "collectives/native/gpu/rounds.h"
#include "collectives/native/kernels/arguments.h"
#include "collectives/native/operation.h"

namespace railgauge::gpu {

struct Traffic {
  std::uint64_t sent = 0, received = 0;
};

class TrafficCount {
 public:
  TrafficCount(int rank, int ranks) : rank_(rank), by_rank_(ranks) {}

  const std::vector<Traffic>& by_rank() const { return by_rank_; }
  // An exchange of elements of that many bytes, repeated.
  void add(const Exchange& exchange, std::size_t element_bytes, std::uint64_t times);
  void add(const Pairs& pairs, std::size_t element_bytes, std::uint64_t times);
  void add(const GpuMessage& message);
  // The traffic of rings, or of trees, which is nearly the same.
  void add(const Operation& operation, const std::vector<PlannedChannel>& channels,
           std::uint64_t times);

 private:
  const int rank_;
  std::vector<Traffic> by_rank_;
};

}  // namespace railgauge::gpu
