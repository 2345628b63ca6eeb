// SPDX-License-Identifier: Apache-2.0
// The data that runs are verified with: integers, of both signs where the dtype has them, that
// depend on rank and index, chosen so that every reduction of them is exact in the dtype, in any
// order. Expected results are computed from the same rule in 64-bit integers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/native/dtype.h"

namespace railgauge {

struct Pattern {
  int ranks;
  Dtype dtype;
  Redop op;
  std::uint64_t seed;
};

// Writes rank `rank`'s input of `count` elements.
void fill_pattern(const Pattern& pattern, int rank, void* data, std::size_t count);

struct Verdict {
  std::size_t wrong;  // elements that differ
  std::size_t index;  // of the first of them
  double expected, got;
};

// Compares every element, bit by bit, with what the reduction over all ranks has to give.
Verdict check_pattern(const Pattern& pattern, const void* data, std::size_t count);

}  // namespace railgauge
