// SPDX-License-Identifier: Apache-2.0
// All-gather, by each algorithm: rank r's `count` elements go to destination + r * stride elements
// on every rank. source may be this rank's own part of the destination.
#pragma once

#include <cstddef>

#include "collectives/native/channel.h"
#include "collectives/native/direct.h"
#include "collectives/native/executor.h"
#include "collectives/native/primitives.h"

namespace railgauge {

// Ring: every part goes around it, n-1 steps.
Task ring_all_gather(const RingChannel& channel, Primitives moves, const std::byte* source,
                     std::byte* destination, std::size_t count, std::size_t stride);

// Every rank posts its part, and reads all others'.
void direct_all_gather(Direct direct, const std::byte* source, std::byte* destination,
                       std::size_t count, std::size_t stride);

}  // namespace railgauge
