// SPDX-License-Identifier: Apache-2.0
// Ranks connected as a hypercube, as one of them sees it: those whose positions differ in one bit
// are neighbours. Where there are no 2^k ranks, the largest power of two of them are the cube's
// core, and each rank beyond has one neighbour, `core` positions before it, which takes part for
// both.
#pragma once

#include <bit>
#include <vector>

#include "collectives/native/pairs.h"

namespace railgauge {

struct CubePlace {
  int position, size;

  int core() const { return static_cast<int>(std::bit_floor(static_cast<unsigned>(size))); }
  bool is_beyond() const { return position >= core(); }
  // Its partner: for a rank beyond the core the one in it, and the reverse; -1: none.
  int partner() const {
    if (is_beyond()) return position - core();
    return position + core() < size ? position + core() : -1;
  }
  std::vector<int> neighbours() const {
    std::vector<int> found;
    for (int bit = 1; !is_beyond() && bit < core(); bit *= 2) found.push_back(position ^ bit);
    if (partner() >= 0) found.push_back(partner());
    return found;
  }
};

struct Cube {
  std::vector<int> order;   // all its ranks, by position
  int position = 0;         // of this rank
  std::vector<Pair> peers;  // by position; null except for neighbours

  CubePlace place() const { return {position, static_cast<int>(order.size())}; }
};

}  // namespace railgauge
