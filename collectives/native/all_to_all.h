// SPDX-License-Identifier: Apache-2.0
// All-to-all: the `count` elements at source + p * stride go to rank p, whose part r of the
// destination they become. In place is not possible.
#pragma once

#include <cstddef>

#include "collectives/native/direct.h"

namespace railgauge {

// Everybody shows the parts for all, and reads its own of each.
void direct_all_to_all(Direct direct, const std::byte* source, std::byte* destination,
                       std::size_t count, std::size_t stride);

// Shows `count` elements of every other rank's part; as they lie, without the own one's.
void show_parts(Direct& direct, const std::byte* source, std::size_t count, std::size_t stride);
// This rank's part of what `peer` shows so.
const std::byte* seen_part(Direct& direct, int peer, std::size_t count);

}  // namespace railgauge
