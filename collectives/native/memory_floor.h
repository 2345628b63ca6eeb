// SPDX-License-Identifier: Apache-2.0
// The limit that memory bandwidth sets to a collective: one rank's input read once and its output
// written once, while the other ranks do the same. Every collective needs at least this.
#pragma once

#include <cstddef>

namespace railgauge {

// The seconds of one such pass: the best of a few batches, `times` passes in all by ordinary
// stores and as many past the caches. What is both read and written is a copy; the rest of the
// longer one is only read or only written. Overwrites the destination.
double memory_floor(const std::byte* source, std::size_t source_bytes, std::byte* destination,
                    std::size_t destination_bytes, int times);

}  // namespace railgauge
