// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/clock.h"

#include <chrono>
#include <thread>

namespace railgauge::cuda {

namespace {

constexpr unsigned kBesideTheDefault = 1;  // CU_STREAM_NON_BLOCKING
constexpr int kCaptureOfThisThread = 1;    // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
constexpr Result kNotReady = 600;          // CUDA_ERROR_NOT_READY
constexpr auto kSpin = std::chrono::microseconds(200), kNap = std::chrono::microseconds(50);

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

Clock::Clock(Context context) : context_(context) {
  const Current current(context_);
  cuda_.check(cuda_.stream_create(&stream_, kBesideTheDefault), "making a stream");
  cuda_.check(cuda_.event_create(&begin_, 0), "making an event");
  cuda_.check(cuda_.event_create(&end_, 0), "making an event");
}

Clock::~Clock() {
  const Current current(context_);
  cuda_.event_destroy(begin_);
  cuda_.event_destroy(end_);
  cuda_.stream_destroy(stream_);
}

double Clock::time(const std::function<void(Stream)>& launch, int ahead, int times, int replays,
                   double timeout_s) {
  const Current current(context_);
  for (int i = 0; i < ahead; ++i) launch(stream_);
  const auto launches = [&] {
    for (int i = 0; i < times; ++i) launch(stream_);
  };
  if (replays) {
    Captured captured(stream_, launches);
    captured.launch(stream_);
    record(begin_);
    for (int i = 0; i < replays; ++i) captured.launch(stream_);
    record(end_);
    await(end_, timeout_s);
  } else {
    record(begin_);
    launches();
    record(end_);
    await(end_, timeout_s);
  }
  float milliseconds = 0;
  cuda_.check(cuda_.event_elapsed(&milliseconds, begin_, end_), "reading events");
  return milliseconds / 1e3 / times / (replays ? replays : 1);
}

void Clock::wait(double timeout_s) {
  const Current current(context_);
  record(end_);
  await(end_, timeout_s);
}

void Clock::record(Event event) {
  cuda_.check(cuda_.event_record(event, stream_), "recording an event");
}

void Clock::await(Event event, double timeout_s) {
  const auto began = std::chrono::steady_clock::now();
  const auto until = began + std::chrono::duration<double>(timeout_s);
  while (true) {
    const Result result = cuda_.event_query(event);
    if (result != kNotReady) return cuda_.check(result, "waiting for a GPU");
    const auto now = std::chrono::steady_clock::now();
    if (now > until) {
      throw Error(ErrorCode::kTimeout,
                  "a GPU was not done within " + std::to_string(timeout_s) + " s");
    }
    if (now > began + kSpin) std::this_thread::sleep_for(kNap);
  }
}

}  // namespace railgauge::cuda
