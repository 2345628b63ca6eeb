// SPDX-License-Identifier: Apache-2.0
// Times what is put on a stream by the GPU's own clock.
#pragma once

#include <functional>
#include <memory>

#include "transports/native/cuda/driver.h"
#include "transports/native/cuda/mark.h"

namespace railgauge::cuda {

class Clock {
 public:
  // A stream of its own on the context's GPU, beside the default one.
  explicit Clock(Context context);

  Stream stream() const { return line_.stream; }
  // Put `ahead` and then `times` launches on the stream; the seconds one of the latter took. With
  // `replays` the `times` are captured into a graph, which runs once ahead and then so often.
  // Error (kTimeout): nothing was done for so many seconds.
  double time(const std::function<void(Stream)>& launch, int ahead, int times, int replays,
              double timeout_s);
  // Until all that is on the stream is done.
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

  // Put something of so many kernels on the stream again and again, but never so much that the
  // driver would make its caller wait, for which it has no timeout.
  void repeat(const std::function<void()>& put, int times, int kernels, double timeout_s);

  Line line_;
  Mark begin_, end_;
  int under_way_ = 0;  // kernels since the latest mark
  std::unique_ptr<Mark> latest_, before_;
};

}  // namespace railgauge::cuda
