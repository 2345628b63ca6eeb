// SPDX-License-Identifier: Apache-2.0
// The order of what shares memory and is put on several streams: each turn comes after the one
// before it, on whatever stream that was, whether it is put there eagerly or by a captured graph.
#pragma once

#include <cstdint>

#include "transports/native/cuda/driver.h"
#include "transports/native/cuda/mark.h"

namespace railgauge::cuda {

// The capture that is open on a stream, by CUDA's number; 0: none.
std::uint64_t capture_of(Stream stream);

// The end of each turn is recorded at once, not when another stream follows: a stream may be gone
// by then, and its handle another one's. A captured turn has an external wait and an external
// record, so that each replay comes after the turn that was put last before it, and what is put
// after a replay comes after that. For one thread, in the GPU's context.
class Turns {
 public:
  // On a context's GPU. Error (kSystem): no event can be had.
  explicit Turns(Context context);

  // What is put on a stream from now on comes after the turn before.
  void begin(Stream stream);
  // What has been put since then is a turn. An exception in between leaves the one before.
  void end(Stream stream);

 private:
  const Driver& cuda_ = Driver::get();
  Mark latest_;                // put eagerly or by a replay
  Mark captured_;              // the latest in an open capture
  std::uint64_t capture_ = 0;  // the one that `captured_` is of
};

}  // namespace railgauge::cuda
