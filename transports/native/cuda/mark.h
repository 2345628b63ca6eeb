// SPDX-License-Identifier: Apache-2.0
// A place in what is put on a stream: a CUDA event of this process's own.
#pragma once

#include <string>

#include "transports/native/cuda/driver.h"

namespace railgauge::cuda {

class Mark {
 public:
  // On the context's GPU; `timed` if elapsed() is asked for. Error (kSystem): it cannot be had.
  Mark(Context context, bool timed);
  ~Mark();
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

  Event event() const { return event_; }
  // After all that is on the stream by now. In the GPU's context, as what follows.
  void set(Stream stream);
  // Until it has come. Error (kTimeout): not within so many seconds.
  void await(double timeout_s) const;
  // Seconds that passed on the GPU since another one.
  double since(const Mark& earlier) const;

 private:
  const Driver& cuda_ = Driver::get();
  Context context_;
  Event event_ = nullptr;
};

}  // namespace railgauge::cuda
