// SPDX-License-Identifier: Apache-2.0
// Which connections the ranks of a communicator make, as plain values: the same on every rank.
// Channels are numbered: rings, trees, pairs, the hypercube of all ranks, those across hosts.
#pragma once

#include <optional>
#include <vector>

#include "transports/native/connector.h"

namespace railgauge {

using Routes = std::vector<std::optional<StepRoute>>;

struct RingPlan {
  std::vector<int> order;  // the ranks in ring order
  Routes routes;           // by position that of the step to the next rank

  // None for a ring of one.
  std::vector<Wire> wires(int channel) const;
};

struct TreePlan {
  std::vector<int> parents;  // by rank; -1: the root
  Routes up, down;           // by rank that of the step to its parent, and from there

  std::vector<Wire> wires(int channel) const;
};

struct ConnectionPlan {
  std::vector<std::vector<int>> hosts;  // all ranks, those that share memory together
  std::vector<RingPlan> rings;
  std::vector<TreePlan> trees;
  bool cube = false;      // all ranks as a hypercube
  bool across = false;    // the ranks of equal position on their hosts as one
  bool segments = false;  // shared ones of the ranks of each host

  int ranks() const;
  const std::vector<int>& host_of(int rank) const;
  // Throws Error(kInvalid) if it is not one of ranks 0 to ranks - 1.
  void check(int ranks) const;
};

}  // namespace railgauge
