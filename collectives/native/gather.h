// SPDX-License-Identifier: Apache-2.0
// Gather and scatter: rank r's `count` elements are at r * stride elements of the root's
// destination (gather) or source (scatter). In place, a rank's own are there already.
#pragma once

#include <cstddef>

#include "collectives/native/direct.h"

namespace railgauge {

// All but the root show their data, the root reads them.
void direct_gather(Direct direct, const std::byte* source, std::byte* destination,
                   std::size_t count, std::size_t stride, int root);

// The root shows everybody's part, each reads its own.
void direct_scatter(Direct direct, const std::byte* source, std::byte* destination,
                    std::size_t count, std::size_t stride, int root);

}  // namespace railgauge
