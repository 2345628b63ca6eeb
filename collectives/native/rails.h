// SPDX-License-Identifier: Apache-2.0
// Routes between hosts for traffic outside planned channels: over the devices of the planned rings,
// each of which is a rail. Ranks of equal position on their hosts use one rail, so that several
// positions keep several devices busy.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "collectives/native/connection_plan.h"

namespace railgauge {

class RingRails {
 public:
  explicit RingRails(const ConnectionPlan& plan);
  // The route of a step from one rank to another; none over shared memory.
  std::optional<StepRoute> step(int source, int target) const;

 private:
  struct Place {
    int host = 0, position = 0;
  };
  struct Rail {
    std::map<int, int> leaving, entering;  // by host the device of the ring's first step there
  };

  std::vector<Place> places_;  // by rank
  std::vector<Rail> rails_;
};

}  // namespace railgauge
