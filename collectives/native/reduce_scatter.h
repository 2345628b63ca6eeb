// SPDX-License-Identifier: Apache-2.0
// Reduce-scatter, by each algorithm: this rank r gets the reduction of all ranks' `count` elements
// at source + r * stride elements. The destination may be that part of the source.
#pragma once

#include <cstddef>

#include "collectives/native/channel.h"
#include "collectives/native/direct.h"
#include "collectives/native/executor.h"
#include "collectives/native/primitives.h"

namespace railgauge {

// Ring: every part goes around it and ends at its rank, n-1 steps.
Task ring_reduce_scatter(const RingChannel& channel, Primitives moves, const std::byte* source,
                         std::byte* destination, std::size_t count, std::size_t stride);

// Every rank posts all parts, and reduces its own part of all.
void direct_reduce_scatter(Direct direct, const Reduction& reduction, const std::byte* source,
                           std::byte* destination, std::size_t count, std::size_t stride);

}  // namespace railgauge
