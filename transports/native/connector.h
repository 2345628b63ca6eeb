// SPDX-License-Identifier: Apache-2.0
// What makes the connections of one rank: over shared memory or a network, as it finds the peers.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "transports/native/shm/shared_segment.h"
#include "transports/native/transport.h"

namespace railgauge {

// By which of the network's devices a step leaves a host and enters the other one.
struct StepRoute {
  int leaves, enters;
};

// A one-way connection from rank `source` to rank `target`; together with the channel it is unique.
struct Wire {
  int channel, source, target;
  std::optional<StepRoute> route;  // none: through shared memory
};

class Connector {
 public:
  virtual ~Connector() = default;
  // This rank's end of each wire: a Sender, a Receiver, or null where it has neither. All ranks
  // call it together, with the same wires.
  virtual std::vector<std::shared_ptr<Connection>> connect(const std::vector<Wire>& wires) = 0;
  // This rank's shared segment, with those of `ranks` mapped, itself among them. All ranks call it
  // together.
  virtual std::shared_ptr<shm::SharedSegment> shared_segment(const std::vector<int>& ranks) = 0;
};

}  // namespace railgauge
