// SPDX-License-Identifier: Apache-2.0
// One rank's connections, made over a plan.
#pragma once

#include <memory>
#include <vector>

#include "collectives/native/channel.h"
#include "collectives/native/connection_plan.h"
#include "collectives/native/cube.h"
#include "collectives/native/hierarchical.h"
#include "collectives/native/pairs.h"

namespace railgauge {

// A missing part cannot be chosen.
struct RankConnections {
  std::vector<RingChannel> rings;
  std::vector<TreeChannel> trees;
  std::shared_ptr<shm::SharedSegment> segment;  // of this host's ranks
  Hosts hosts;                                  // empty where all ranks are on one
  Cube cube;                                    // of all ranks
  Cube across;                                  // of the ranks of this position, one of each host
  std::vector<Pair> pairs;
  bool over_sockets = false;  // whether any is, pairs left out
};

// Makes what the plan has; all ranks together. Throws what the connector throws, or Error(kInvalid)
// if the plan is not for these ranks.
RankConnections connect(int rank, int ranks, const ConnectionPlan& plan, Connector& connector);

// This rank's pair with each other one that any of the wires joins it to; empty where none does.
std::vector<Pair> connect_pairs(int rank, int ranks, const std::vector<Wire>& wires,
                                Connector& connector);
// With every other one.
std::vector<Pair> connect_pairs(int rank, int ranks, const Hosts& hosts, int channel,
                                Connector& connector);
bool over_sockets(const std::vector<Pair>& pairs);

}  // namespace railgauge
