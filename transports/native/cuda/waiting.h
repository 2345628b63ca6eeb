// SPDX-License-Identifier: Apache-2.0
// Waits for GPUs, each with an end, and what destructors may do to a GPU. While one is not done in
// time, all that would wait for it, as giving its memory back does, is left to the driver, which
// does it when this process is gone.
#pragma once

#include <string>

#include "transports/native/cuda/driver.h"

namespace railgauge::cuda {

// Whether a GPU was not done in time, and still is not; of drivers before CUDA 12.5, which cannot
// tell of all streams, whether it ever was not.
bool hangs(Context context) noexcept;
// Whether any GPU of this process does.
bool any_hangs() noexcept;

// Until an event, or all that is on a stream, of a GPU that is current, has come; `what` is waited
// for. Error (kTimeout): not within so many seconds; the GPU hangs from then on.
void await(Context context, Event event, double timeout_s, const std::string& what);
void await(Context context, Stream stream, double timeout_s, const std::string& what);

// Until nothing is under way on a GPU, on any stream of this process; it hangs where that does not
// come within so many seconds. For destructors: throws nothing. Drivers before CUDA 12.5 cannot
// tell of all streams, and are asked for the default one's.
void await_idle(Context context, double timeout_s) noexcept;

// A GPU current on this thread for a destructor; false where nothing can be given back to it: it
// hangs, or the driver or its context is gone, and all that was there with it.
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
