// SPDX-License-Identifier: Apache-2.0
// A position on a stream: a CUDA event of this process's own.
#pragma once

#include <string>

#include "transports/native/cuda/driver.h"

namespace railgauge::cuda {

class Mark {
 public:
  // On the context's GPU; `timed` if elapsed() is needed. Error (kSystem): it cannot be created.
  Mark(Context context, bool timed);
  ~Mark();
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

  Event event() const { return event_; }
  // After all work on the stream so far. Call it in the GPU's context, like the following.
  void set(Stream stream);
  // Waits until it is reached. Error (kTimeout): not within that many seconds.
  void await(double timeout_s) const;
  // Later work on a stream of the GPU runs after it. In any context, like the following.
  void hold_back(Stream stream) const;
  // Whether it is reached. Error (kSystem): it is captured into a graph.
  bool is_reached() const;
  // Seconds that passed on the GPU since another one.
  double since(const Mark& earlier) const;

 private:
  const Driver& cuda_ = Driver::get();
  Context context_;
  Event event_ = nullptr;
};

}  // namespace railgauge::cuda
