// SPDX-License-Identifier: Apache-2.0
// The order of operations that share memory and are on several streams: each turn runs after the
// previous one, whatever its stream, whether it is launched eagerly or by a captured graph.
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

// The end of each turn is recorded at once, not when another stream follows: a stream may be
// destroyed by then, and its handle reused. A capture begins with an external wait, so that a
// replay runs after the turn before it, and has one record after its last turn, so that work after
// a replay runs after that. The record is a leaf of the graph, which moves from turn to turn: a
// record between two turns costs 3 us each (2 x H200, 1 KiB all_reduces in a graph: 5.5 us, 2.6
// without). When two captures are open at once and turns alternate between them, each graph keeps
// the order of its own turns on one stream only. For one thread, in the GPU's context.
class Turns {
 public:
  // On a context's GPU. Error (kSystem): no event can be created.
  explicit Turns(Context context);

  // Later work on a stream runs after the previous turn.
  void begin(Stream stream);
  // Work since then is a turn. After an exception in between the previous one stays.
  void end(Stream stream);

 private:
  void record_behind(const Capture& capture);

  const Driver& cuda_ = Driver::get();
  Mark latest_;                  // put eagerly or by a replay
  Mark captured_;                // the latest in an open capture
  std::uint64_t capture_ = 0;    // the one that `captured_` is of
  bool in_capture_ = false;      // whether the turn under way is captured
  GraphNode record_ = nullptr;   // of `latest_`, in that capture
  std::vector<GraphNode> ends_;  // what the record depends on
};

}  // namespace railgauge::cuda
