// SPDX-License-Identifier: Apache-2.0
// Reduce, by each algorithm: the reduction of all ranks' `count` elements goes to the root's
// destination; no other is written. source may be destination.
#pragma once

#include <cstddef>

#include "collectives/native/channel.h"
#include "collectives/native/direct.h"
#include "collectives/native/executor.h"
#include "collectives/native/primitives.h"

namespace railgauge {

// Ring: from the one after the root on, n-1 steps.
Task ring_reduce(const RingChannel& channel, Primitives moves, const std::byte* source,
                 std::byte* destination, std::size_t count, int root);

// All but the root post their data, the root reduces it.
void direct_reduce(Direct direct, const Reduction& reduction, const std::byte* source,
                   std::byte* destination, std::size_t count, int root);

// Each rank reduces its part of every chunk, the root reads the results.
void two_shot_reduce(Direct direct, const Reduction& reduction, const std::byte* source,
                     std::byte* destination, std::size_t count, int root);

}  // namespace railgauge
