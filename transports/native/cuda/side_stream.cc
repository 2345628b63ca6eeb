// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/side_stream.h"

namespace railgauge::cuda {

namespace {

constexpr unsigned kBesideTheDefault = 1;  // CU_STREAM_NON_BLOCKING
constexpr unsigned kUntimed = 2;           // CU_EVENT_DISABLE_TIMING

}  // namespace

SideStream::SideStream(Context context) : context_(context) {
  const Current current(context_);
  cuda_.check(cuda_.stream_create(&stream_, kBesideTheDefault), "making a stream");
  cuda_.check(cuda_.event_create(&forked_, kUntimed), "making an event");
  cuda_.check(cuda_.event_create(&joined_, kUntimed), "making an event");
}

SideStream::~SideStream() {
  const Current current(context_);
  cuda_.event_destroy(joined_);
  cuda_.event_destroy(forked_);
  cuda_.stream_destroy(stream_);
}

Stream SideStream::fork(Stream stream) {
  follow(stream, forked_, stream_);
  return stream_;
}

void SideStream::join(Stream stream) { follow(stream_, joined_, stream); }

void SideStream::follow(Stream first, Event reached, Stream then) {
  const Current current(context_);
  cuda_.check(cuda_.event_record(reached, first), "recording an event");
  cuda_.check(cuda_.stream_wait(then, reached, 0), "waiting for an event");
}

}  // namespace railgauge::cuda
