// SPDX-License-Identifier: Apache-2.0
// Times work on a stream with the GPU's own clock.
#pragma once

#include <functional>
#include <memory>

#include "transports/native/cuda/driver.h"
#include "transports/native/cuda/mark.h"

namespace railgauge::cuda {

class Timer {
 public:
  // A stream of its own on the context's GPU, beside the default one.
  explicit Timer(Context context);

  Stream stream() const { return line_.stream; }
  // Put `ahead` untimed and then `times` launches on the stream; the seconds of one of the latter.
  // With `replays` the `times` are captured into a graph, which runs once untimed and then that
  // many times. Error (kTimeout): no progress for that many seconds.
  double time(const std::function<void(Stream)>& launch, int ahead, int times, int replays,
              double timeout_s);
  // Waits until all work on the stream is done.
  void wait(double timeout_s);

 private:
  struct Line {
    explicit Line(Context context);
    ~Line();
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    Context context;
    Stream stream = nullptr;
  };

  // Put work of that many kernels on the stream repeatedly, but never so much that the driver would
  // block its caller, for which it has no timeout.
  void repeat(const std::function<void()>& put, int times, int kernels, double timeout_s);

  Line line_;
  Mark begin_, end_;
  int under_way_ = 0;  // kernels since the latest mark
  std::unique_ptr<Mark> latest_, before_;
};

}  // namespace railgauge::cuda
