// SPDX-License-Identifier: Apache-2.0
// Collectives by recursive doubling and halving among all ranks. Schedules work within one buffer:
// the destination where it has room for all that passes, else a scratch, piece after piece.
#pragma once

#include <cstddef>

#include "collectives/native/recursive.h"

namespace railgauge {

enum class AllReduceBy { kDoubling, kHalving };

void recursive_all_reduce(const Recursive& ranks, AllReduceBy by, const std::byte* source,
                          std::byte* destination, std::size_t count);
void recursive_all_gather(const Recursive& ranks, const std::byte* source, std::byte* destination,
                          std::size_t count);
void recursive_reduce_scatter(const Recursive& ranks, const std::byte* source,
                              std::byte* destination, std::size_t count);
void recursive_broadcast(const Recursive& ranks, const std::byte* source, std::byte* destination,
                         std::size_t count, int root);
void recursive_reduce(const Recursive& ranks, const std::byte* source, std::byte* destination,
                      std::size_t count, int root);

}  // namespace railgauge
