// SPDX-License-Identifier: Apache-2.0
// Broadcast, by each algorithm: the root's `count` elements go to every rank's destination,
// including the root's own. source may be destination; only the root's is read.
#pragma once

#include <cstddef>

#include "collectives/native/channel.h"
#include "collectives/native/direct.h"
#include "collectives/native/executor.h"
#include "collectives/native/primitives.h"

namespace railgauge {

// Ring: from the root on, n-1 steps.
Task ring_broadcast(const RingChannel& channel, Primitives moves, const std::byte* source,
                    std::byte* destination, std::size_t count, int root);

// The root posts its data, all ranks read it.
void direct_broadcast(Direct direct, const std::byte* source, std::byte* destination,
                      std::size_t count, int root);

}  // namespace railgauge
