// SPDX-License-Identifier: Apache-2.0
// What a call costs, as --cost of a test prints it.
#pragma once

#include <time.h>

#include <algorithm>

constexpr int kTurns = 400, kCallsOfTurn = 500;  // a turn is shorter than a time slice

// ns of a body(i) in the fastest of the turns.
template <class F>
double least_ns(const F& body) {
  double least = 1e18;
  for (int turn = 0; turn < kTurns; ++turn) {
    timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    for (int i = 1; i <= kCallsOfTurn; ++i) body(i);
    clock_gettime(CLOCK_MONOTONIC, &after);
    const double ns = (after.tv_sec - before.tv_sec) * 1e9 + (after.tv_nsec - before.tv_nsec);
    least = std::min(least, ns / kCallsOfTurn);
  }
  return least;
}

// What every event pays at least once.
inline double clock_ns() {
  timespec now;
  return least_ns([&](int) { clock_gettime(CLOCK_MONOTONIC, &now); });
}
