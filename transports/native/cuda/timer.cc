// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/timer.h"

#include "transports/native/cuda/waiting.h"

namespace railgauge::cuda {

namespace {

constexpr int kAtOnce = 256;             // kernels: a stream of more than 1,000 blocks its caller
constexpr int kCaptureOfThisThread = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

// Launches captured, to be run again and again.
class Captured {
 public:
  Captured(Stream stream, const std::function<void()>& launches) {
    cuda_.check(cuda_.stream_capture(stream, kCaptureOfThisThread), "capturing a stream");
    try {
      launches();
    } catch (...) {
      cuda_.stream_captured(stream, &graph_);
      destroy();
      throw;
    }
    cuda_.check(cuda_.stream_captured(stream, &graph_), "capturing a stream");
    const Result result = cuda_.graph_prepare(&run_, graph_, 0);
    if (result) destroy();
    cuda_.check(result, "preparing a graph");
  }
  ~Captured() { destroy(); }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  void launch(Stream stream) { cuda_.check(cuda_.graph_launch(run_, stream), "starting a graph"); }

 private:
  void destroy() {
    if (run_) cuda_.graph_run_destroy(run_);
    if (graph_) cuda_.graph_destroy(graph_);
  }

  const Driver& cuda_ = Driver::get();
  Graph graph_ = nullptr;
  GraphRun run_ = nullptr;
};

}  // namespace

Timer::Line::Line(Context context) : context(context) {
  const Current current(context);
  const Driver& cuda = Driver::get();
  cuda.check(cuda.stream_create(&stream, kBesideTheDefault), "making a stream");
}

Timer::Line::~Line() {
  if (const Closing gpu(context); gpu) Driver::get().stream_destroy(stream);
}

Timer::Timer(Context context)
    : line_(context),
      begin_(context, true),
      end_(context, true),
      latest_(std::make_unique<Mark>(context, false)),
      before_(std::make_unique<Mark>(context, false)) {}

double Timer::time(const std::function<void(Stream)>& launch, int ahead, int times, int replays,
                   double timeout_s) {
  const Current current(line_.context);
  const auto put = [&] { launch(stream()); };
  repeat(put, ahead, 1, timeout_s);
  if (replays) {
    Captured captured(stream(), [&] {
      for (int i = 0; i < times; ++i) put();
    });
    repeat([&] { captured.launch(stream()); }, 1, times, timeout_s);
    begin_.set(stream());
    repeat([&] { captured.launch(stream()); }, replays, times, timeout_s);
    end_.set(stream());
    end_.await(timeout_s);
  } else {
    begin_.set(stream());
    repeat(put, times, 1, timeout_s);
    end_.set(stream());
    end_.await(timeout_s);
  }
  return end_.since(begin_) / times / (replays ? replays : 1);
}

void Timer::repeat(const std::function<void()>& put, int times, int kernels, double timeout_s) {
  for (int i = 0; i < times; ++i) {
    put();
    under_way_ += kernels;
    if (under_way_ < kAtOnce) continue;
    under_way_ = 0;
    before_->await(timeout_s);
    before_->set(stream());
    before_.swap(latest_);
  }
}

void Timer::wait(double timeout_s) {
  const Current current(line_.context);
  end_.set(stream());
  end_.await(timeout_s);
}

}  // namespace railgauge::cuda
