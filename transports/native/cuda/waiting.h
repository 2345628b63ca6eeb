// SPDX-License-Identifier: Apache-2.0
// Waits for GPUs, each with a timeout, and what destructors may do to a GPU. While one hangs, calls
// that would wait for it, such as freeing its memory, are left to the driver, which does it when
// this process ends.
#pragma once

#include <string>

#include "transports/native/cuda/driver.h"

namespace railgauge::cuda {

inline constexpr double kPatience = 5;    // s: kernels end by themselves after their timeout
inline constexpr Result kNotReady = 600;  // CUDA_ERROR_NOT_READY

// Whether a GPU did not finish in time, and still has not; with drivers before CUDA 12.5, which
// cannot query all streams, whether it ever did not.
bool hangs(Context context) noexcept;
// Whether any GPU of this process does.
bool any_hangs() noexcept;

// Waits for an event, or all work on a stream, of the current GPU; `what` names it. Error
// (kTimeout): not within that many seconds; the GPU counts as hanging from then on.
void await(Context context, Event event, double timeout_s, const std::string& what);
void await(Context context, Stream stream, double timeout_s, const std::string& what);

// Waits until a GPU is idle, on all streams of this process; it counts as hanging if that takes
// longer than that many seconds. For destructors: throws nothing. Drivers before CUDA 12.5 cannot
// query all streams; there only the default one is queried.
void await_idle(Context context, double timeout_s) noexcept;

// Makes a GPU current on this thread for a destructor; false if nothing can be freed there: it
// hangs, or the driver or its context is gone, with all its memory.
class Closing {
 public:
  explicit Closing(Context context) noexcept;
  ~Closing();
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;

  explicit operator bool() const { return entered_; }

 private:
  bool entered_;
};

}  // namespace railgauge::cuda
