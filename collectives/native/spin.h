// SPDX-License-Identifier: Apache-2.0
// How long a rank polls for the others before it sleeps.
#pragma once

#include <chrono>

namespace railgauge {

// `crowded`: the host has more ranks than cores for them, so that polling takes CPU time from the
// awaited rank. Over sockets a turn takes longer than waking up. Else it polls for longer than one
// turn of a large ring: a sleeping rank makes its neighbours wait longer, so that they sleep too
// (32 ranks on 64 cores took 4.5 ms for 8 bytes with 50 us).
inline std::chrono::nanoseconds spin_time(bool crowded, bool over_sockets) {
  using std::chrono::microseconds;
  return crowded ? microseconds(5) : over_sockets ? microseconds(50) : microseconds(2000);
}

}  // namespace railgauge
