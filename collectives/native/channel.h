// SPDX-License-Identifier: Apache-2.0
// A channel as one rank sees it: its place in the ring or in the tree, and the connections to its
// neighbours there.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "transports/native/transport.h"

namespace railgauge {

struct RingChannel {
  int position;  // of this rank in the ring's order, 0..ranks-1
  int ranks;
  std::shared_ptr<Sender> next;        // null for a ring of one
  std::shared_ptr<Receiver> previous;  // null for a ring of one
  std::vector<int> order;              // all ranks, in ring order

  // How many steps this rank is after `rank`.
  int behind(int rank) const {
    int of_rank = static_cast<int>(std::find(order.begin(), order.end(), rank) - order.begin());
    return (position - of_rank + ranks) % ranks;
  }
};

// The two connections of an edge of the tree, as seen from one end.
struct TreeEdge {
  std::shared_ptr<Sender> to;
  std::shared_ptr<Receiver> from;
};

struct TreeChannel {
  TreeEdge parent;  // null at the root
  std::vector<TreeEdge> children;

  bool is_root() const { return parent.to == nullptr; }
};

}  // namespace railgauge
