// SPDX-License-Identifier: Apache-2.0
// A channel as one rank sees it: its place in the ring, and the connections to its neighbours
// there.
#pragma once

#include <memory>

#include "transports/native/transport.h"

namespace railgauge {

struct RingChannel {
  int position;  // of this rank in the ring's order, 0..ranks-1
  int ranks;
  std::shared_ptr<Sender> next;        // null for a ring of one
  std::shared_ptr<Receiver> previous;  // null for a ring of one
};

}  // namespace railgauge
