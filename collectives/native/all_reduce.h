// SPDX-License-Identifier: Apache-2.0
// Ring all-reduce: reduce-scatter around the ring, then all-gather around it.
#pragma once

#include <cstddef>

#include "collectives/native/channel.h"
#include "collectives/native/dtype.h"
#include "collectives/native/executor.h"
#include "collectives/native/primitives.h"

namespace railgauge {

// All-reduces `count` elements over one channel. source may be destination. Every rank of the ring
// has to run it with the same count. Cost: each rank sends and receives 2 (n-1)/n of the data.
Task ring_all_reduce(const RingChannel& channel, Primitives moves, const std::byte* source,
                     std::byte* destination, std::size_t count);

}  // namespace railgauge
