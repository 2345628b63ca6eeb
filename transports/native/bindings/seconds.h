// SPDX-License-Identifier: Apache-2.0
// Seconds as Python has them, for waits.
#pragma once

#include <chrono>

namespace railgauge {

inline std::chrono::nanoseconds nanoseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(seconds));
}

}  // namespace railgauge
