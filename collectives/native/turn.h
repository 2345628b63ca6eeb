// SPDX-License-Identifier: Apache-2.0
// How a stretch of elements is cut into one part per rank.
#pragma once

#include <algorithm>
#include <cstddef>

namespace railgauge {

// [start, end) in `parts` parts of equal length, which begin at multiples of a cache line from
// start, so that neighbours never write the same one; the last ones may be shorter, or empty.
class Turn {
 public:
  Turn(std::size_t start, std::size_t end, int parts, std::size_t element)
      : start_(start), end_(end) {
    const std::size_t line = 64 / element;
    length_ = ((end - start + parts - 1) / parts + line - 1) / line * line;
  }

  std::size_t offset(int part) const { return std::min(end_, start_ + part * length_); }
  std::size_t count(int part) const { return offset(part + 1) - offset(part); }

 private:
  std::size_t start_, end_, length_;
};

}  // namespace railgauge
