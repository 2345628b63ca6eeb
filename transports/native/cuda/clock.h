// SPDX-License-Identifier: Apache-2.0
// Times what is put on a stream by the GPU's own clock.
#pragma once

#include <functional>

#include "transports/native/cuda/driver.h"

namespace railgauge::cuda {

class Clock {
 public:
  // A stream of its own on the context's GPU, beside the default one.
  explicit Clock(Context context);
  ~Clock();
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  Stream stream() const { return stream_; }
  // Put `ahead` and then `times` launches on the stream; the seconds one of the latter took. With
  // `replays` the `times` are captured into a graph, which runs once ahead and then so often.
  // Error (kTimeout): not done within so many seconds.
  double time(const std::function<void(Stream)>& launch, int ahead, int times, int replays,
              double timeout_s);
  // Until all that is on the stream is done.
  void wait(double timeout_s);

 private:
  void record(Event event);
  void await(Event event, double timeout_s);

  const Driver& cuda_ = Driver::get();
  Context context_;
  Stream stream_ = nullptr;
  Event begin_ = nullptr, end_ = nullptr;
};

}  // namespace railgauge::cuda
