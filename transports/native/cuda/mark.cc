// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/mark.h"

#include "transports/native/cuda/waiting.h"

namespace railgauge::cuda {

namespace {

constexpr unsigned kTimed = 0;  // CU_EVENT_DEFAULT

}  // namespace

Mark::Mark(Context context, bool timed) : context_(context) {
  const Current current(context_);
  cuda_.check(cuda_.event_create(&event_, timed ? kTimed : kUntimed), "making an event");
}

Mark::~Mark() {
  if (const Closing gpu(context_); gpu) cuda_.event_destroy(event_);
}

void Mark::set(Stream stream) {
  cuda_.check(cuda_.event_record(event_, stream), "recording an event");
}

void Mark::hold_back(Stream stream) const {
  const Current current(context_);
  cuda_.check(cuda_.stream_wait(stream, event_, 0), "waiting for an event");
}

bool Mark::is_reached() const {
  const Result result = cuda_.event_query(event_);
  if (result != kNotReady) cuda_.check(result, "asking for an event");
  return result != kNotReady;
}

void Mark::await(double timeout_s) const {
  cuda::await(context_, event_, timeout_s, "waiting for a GPU");
}

double Mark::since(const Mark& earlier) const {
  float milliseconds = 0;
  cuda_.check(cuda_.event_elapsed(&milliseconds, earlier.event_, event_), "reading events");
  return milliseconds / 1e3;
}

}  // namespace railgauge::cuda
