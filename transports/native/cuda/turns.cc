// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/turns.h"

namespace railgauge::cuda {

namespace {

constexpr unsigned kExternal = 1;                    // CU_EVENT_WAIT_EXTERNAL
constexpr int kNoCapture = 0;                        // CU_STREAM_CAPTURE_STATUS_NONE
const Stream kLegacy = reinterpret_cast<Stream>(1);  // CU_STREAM_LEGACY

}  // namespace

Capture capture_of(Stream stream) {
  // The default stream cannot be captured; querying it is an error while others are captured.
  if (!stream || stream == kLegacy) return {};
  int status = kNoCapture;
  Capture capture;
  const GraphNode* ends = nullptr;
  std::size_t count = 0;
  Driver::get().check(
      Driver::get().capture_info(stream, &status, &capture.number, &capture.graph, &ends, &count),
      "asking a stream whether it is captured");
  if (status == kNoCapture) return {};
  capture.ends.assign(ends, ends + count);
  return capture;
}

Turns::Turns(Context context) : latest_(context, false), captured_(context, false) {}

void Turns::begin(Stream stream) {
  const Capture capture = capture_of(stream);
  in_capture_ = bool(capture);
  const bool follows = capture && capture.number == capture_;  // an edge within the graph
  cuda_.check(cuda_.stream_wait(stream, (follows ? captured_ : latest_).event(),
                                capture && !follows ? kExternal : 0),
              "waiting for an operation on another stream");
}

void Turns::end(Stream stream) {
  if (!in_capture_) return latest_.set(stream);
  record_behind(capture_of(stream));
  captured_.set(stream);
}

void Turns::record_behind(const Capture& capture) {
  if (capture.number != capture_) {
    cuda_.check(cuda_.graph_record(&record_, capture.graph, capture.ends.data(),
                                   capture.ends.size(), latest_.event()),
                "recording an event in a graph");
  } else {
    const std::vector<GraphNode> before(ends_.size(), record_);
    cuda_.check(cuda_.graph_release(capture.graph, ends_.data(), before.data(), ends_.size()),
                "moving a record in a graph");
    const std::vector<GraphNode> now(capture.ends.size(), record_);
    cuda_.check(
        cuda_.graph_depend(capture.graph, capture.ends.data(), now.data(), capture.ends.size()),
        "moving a record in a graph");
  }
  capture_ = capture.number;
  ends_ = capture.ends;
}

}  // namespace railgauge::cuda
