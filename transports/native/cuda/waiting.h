// SPDX-License-Identifier: Apache-2.0
// Waits for GPUs, each with an end. Once a GPU was not done in time, all that would wait for one,
// as giving memory back does, is left to the driver, which does it when this process is gone.
#pragma once

#include <string>

#include "transports/native/cuda/driver.h"

namespace railgauge::cuda {

// Whether some GPU of this process was not done in time.
bool hangs();

// Until an event, or all that is on a stream of the current context, has come; `what` is waited
// for. Error (kTimeout): not within so many seconds; hangs() from then on.
void await(Event event, double timeout_s, const std::string& what);
void await(Stream stream, double timeout_s, const std::string& what);

// Until nothing is under way on a GPU, on any stream of this process; hangs() where that does not
// come within so many seconds. For destructors: throws nothing. Drivers before CUDA 12.5 cannot
// tell of all streams, and are asked for the default one's.
void await_idle(Context context, double timeout_s) noexcept;

}  // namespace railgauge::cuda
