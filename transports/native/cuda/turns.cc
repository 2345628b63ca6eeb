// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/turns.h"

namespace railgauge::cuda {

namespace {

constexpr unsigned kExternal = 1;  // CU_EVENT_WAIT_EXTERNAL, CU_EVENT_RECORD_EXTERNAL
constexpr int kNoCapture = 0;      // CU_STREAM_CAPTURE_STATUS_NONE
const Stream kLegacy = reinterpret_cast<Stream>(1);  // CU_STREAM_LEGACY

}  // namespace

std::uint64_t capture_of(Stream stream) {
  // The default stream cannot be captured; to be asked for it is an error while others are.
  if (!stream || stream == kLegacy) return 0;
  int status = kNoCapture;
  std::uint64_t number = 0;
  Driver::get().check(
      Driver::get().capture_info(stream, &status, &number, nullptr, nullptr, nullptr),
      "asking a stream whether it is captured");
  return status == kNoCapture ? 0 : number;
}

Turns::Turns(Context context) : latest_(context, false), captured_(context, false) {}

void Turns::begin(Stream stream) {
  const std::uint64_t capture = capture_of(stream);
  const bool follows = capture && capture == capture_;  // an edge within the graph
  cuda_.check(cuda_.stream_wait(stream, (follows ? captured_ : latest_).event(),
                                capture && !follows ? kExternal : 0),
              "waiting for an operation on another stream");
}

void Turns::end(Stream stream) {
  const std::uint64_t capture = capture_of(stream);
  if (!capture) return latest_.set(stream);
  cuda_.check(cuda_.event_record_with(latest_.event(), stream, kExternal), "recording an event");
  captured_.set(stream);
  capture_ = capture;
}

}  // namespace railgauge::cuda
