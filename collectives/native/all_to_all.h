// SPDX-License-Identifier: Apache-2.0
// All-to-all: the `count` elements at source + p * stride go to rank p, whose part r of the
// destination they become. In place is not possible.
#pragma once

#include <cstddef>

#include "collectives/native/direct.h"

namespace railgauge {

// Every rank posts the parts for all, and reads its own from each.
void direct_all_to_all(Direct direct, const std::byte* source, std::byte* destination,
                       std::size_t count, std::size_t stride);

// Posts `count` elements of every other rank's part, in order, without its own.
void show_parts(Direct& direct, const std::byte* source, std::size_t count, std::size_t stride);
// This rank's part of such a post of `peer`.
const std::byte* seen_part(Direct& direct, int peer, std::size_t count);

}  // namespace railgauge
