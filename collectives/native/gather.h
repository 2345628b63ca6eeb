// SPDX-License-Identifier: Apache-2.0
// Gather and scatter: rank r's `count` elements are at r * stride elements of the root's
// destination (gather) or source (scatter). In place, a rank's own elements are already there.
#pragma once

#include <cstddef>

#include "collectives/native/direct.h"

namespace railgauge {

// All but the root post their data, the root reads it.
void direct_gather(Direct direct, const std::byte* source, std::byte* destination,
                   std::size_t count, std::size_t stride, int root);

// The root posts every rank's part, each reads its own.
void direct_scatter(Direct direct, const std::byte* source, std::byte* destination,
                    std::size_t count, std::size_t stride, int root);

}  // namespace railgauge
