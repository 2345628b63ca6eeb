// SPDX-License-Identifier: Apache-2.0
// The order of what shares memory and is put on several streams: each turn comes after the one
// before it, on whatever stream that was, whether it is put there eagerly or by a captured graph.
#pragma once

#include <cstdint>
#include <vector>

#include "transports/native/cuda/driver.h"
#include "transports/native/cuda/mark.h"

namespace railgauge::cuda {

// A capture that is open on a stream.
struct Capture {
  std::uint64_t number = 0;     // CUDA's; 0: there is none
  Graph graph = nullptr;        // what is captured
  std::vector<GraphNode> ends;  // what the next node on the stream depends on

  explicit operator bool() const { return number != 0; }
};
Capture capture_of(Stream stream);

// The end of each turn is recorded at once, not when another stream follows: a stream may be gone
// by then, and its handle another one's. A capture begins with an external wait, so that a replay
// comes after the turn that was put last before it, and has one record behind its last turn, so
// that what is put after a replay comes after that. The record is a leaf of the graph, which
// moves from turn to turn: a record between two turns costs 3 us each (2 x H200, 1 KiB
// all_reduces in a graph: 5.5 us, 2.6 without). When two captures are open at once and turns
// alternate between them, each graph keeps the order of its own turns on one stream only.
// For one thread, in the GPU's context.
class Turns {
 public:
  // On a context's GPU. Error (kSystem): no event can be had.
  explicit Turns(Context context);

  // What is put on a stream from now on comes after the turn before.
  void begin(Stream stream);
  // What has been put since then is a turn. An exception in between leaves the one before.
  void end(Stream stream);

 private:
  void record_behind(const Capture& capture);

  const Driver& cuda_ = Driver::get();
  Mark latest_;                  // put eagerly or by a replay
  Mark captured_;                // the latest in an open capture
  std::uint64_t capture_ = 0;    // the one that `captured_` is of
  GraphNode record_ = nullptr;   // of `latest_`, in that capture
  std::vector<GraphNode> ends_;  // what the record depends on
};

}  // namespace railgauge::cuda
