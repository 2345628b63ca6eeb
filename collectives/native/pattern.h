// SPDX-License-Identifier: Apache-2.0
// The data with which runs are verified. It depends on seed, rank and index, so that a misplaced
// element is detected. Two kinds:
//
// exact   integers, of both signs where the dtype has them, chosen so that every reduction of them
//         is exact in the dtype, in any order; compared bit by bit.
// random  any bits. Integers wrap in sums and products, in any order the same; minimum and maximum
//         are exact, and so are products of floats, which are powers of two here. All that is
//         compared bit by bit. Sums and averages of floats from the whole range of the dtype,
//         subnormal ones too, depend on the order, and are compared within a bound that holds for
//         any: random_data.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/native/dtype.h"

namespace railgauge {

// The numbers are part of the Python binding (collectives/dtype.py).
enum class PatternKind : int { kExact, kRandom };

struct DataPattern {
  int ranks;
  Dtype dtype;
  Redop op;
  std::uint64_t seed;
  PatternKind kind = PatternKind::kExact;
};

// Writes elements `first` to `first + count` of rank `rank`'s input.
void fill_pattern(const DataPattern& pattern, int rank, void* data, std::size_t count,
                  std::uint64_t first = 0);

struct Verdict {
  std::size_t wrong;  // elements that differ
  std::size_t index;  // of the first of them, in the data given
  double expected, got;
  double ulps;  // tolerance in units in the last place of `expected`; 0: exact
};

// Compares every element with the expected reduction over all ranks at `first` and after.
Verdict check_reduced(const DataPattern& pattern, const void* data, std::size_t count,
                      std::uint64_t first = 0);

// Compares every element, bit by bit, with what fill_pattern writes.
Verdict check_copied(const DataPattern& pattern, int rank, const void* data, std::size_t count,
                     std::uint64_t first = 0);

}  // namespace railgauge
