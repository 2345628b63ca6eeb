// SPDX-License-Identifier: Apache-2.0
// The lightest order in which to visit GPUs, once each: a travelling salesman's tour, closed or
// open.
#pragma once

#include <vector>

namespace railgauge::topo {

// Weights of the parts of a tour. A closed one has steps only; an open one also weighs its first
// two stops, head[a * n
// + b], and its last, tail[a]. HUGE_VAL: not possible. There are at least two stops.
struct TourWeights {
  int stops;
  bool closed;
  std::vector<double> step;  // from a to b at a * stops + b
  std::vector<double> head;
  std::vector<double> tail;
};

struct Tour {
  double weight;
  std::vector<int> order;  // empty when there is none
};

inline constexpr int MOST_EXACT_STOPS = 16;
inline constexpr int QUICK_STOPS = 9;  // up to these, the exact search costs little

double tour_weight(const TourWeights& weights, const std::vector<int>& order);
Tour lightest_tour(const TourWeights& weights);  // by dynamic programming, up to MOST_EXACT_STOPS
Tour light_tour(const TourWeights& weights);     // by nearest neighbours and moves of segments
double least_tour_weight(
    const TourWeights& weights);  // no tour weighs less: an assignment, then an arborescence

}  // namespace railgauge::topo
