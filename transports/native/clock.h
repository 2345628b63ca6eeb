// SPDX-License-Identifier: Apache-2.0
// The clock of all deadlines and pauses: it never goes back.
#pragma once

#include <chrono>

namespace railgauge {

using Clock = std::chrono::steady_clock;

}  // namespace railgauge
