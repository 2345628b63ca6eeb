// SPDX-License-Identifier: Apache-2.0
// All-reduce, by each algorithm. source may be destination; every rank calls the same with the same
// count of elements.
#pragma once

#include <cstddef>

#include "collectives/native/channel.h"
#include "collectives/native/direct.h"
#include "collectives/native/executor.h"
#include "collectives/native/primitives.h"
#include "collectives/native/reduction.h"

namespace railgauge {

// Ring: reduce-scatter around it, then all-gather around it. Each rank sends and receives
// 2 (n-1)/n of the data, in 2 (n-1) steps.
Task ring_all_reduce(const RingChannel& channel, Primitives moves, const std::byte* source,
                     std::byte* destination, std::size_t count);

// Tree: up to the root, where the reduction ends, and down again; two tasks, which run at the same
// time. Each rank sends and receives the data twice, in 2 log2(n) steps.
Task tree_all_reduce_up(const TreeChannel& channel, const Reduction& reduction, std::size_t element,
                        const std::byte* source, std::byte* destination, std::size_t count,
                        bool stream, std::uint32_t tag);
Task tree_all_reduce_down(const TreeChannel& channel, std::size_t element, std::byte* destination,
                          std::size_t count, bool stream, std::uint32_t tag);

// One-shot: every rank posts all of its data and reduces the posts of all. One step.
void one_shot_all_reduce(Direct direct, const Reduction& reduction, const std::byte* source,
                         std::byte* destination, std::size_t count);

// Two-shot: each rank reduces its part of every chunk and posts the result. Two steps, and the
// minimum to read.
void two_shot_all_reduce(Direct direct, const Reduction& reduction, const std::byte* source,
                         std::byte* destination, std::size_t count);

}  // namespace railgauge
