// SPDX-License-Identifier: Apache-2.0
// What NCCL 2.30 chooses: `ncclTopoCompute` of its src/graph/search.cc, its order of attempts, its
// budgets and its arithmetic, so that the answer is its own to the channel.
#pragma once

#include <array>
#include <vector>

#include "topo/native/wiring.h"

namespace railgauge::topo {

// NCCL_TOPO_PATTERN_*
enum class Pattern : int { balanced_tree = 1, split_tree = 2, tree = 3, ring = 4 };

// A set of channels, all of one speed. `order` holds GPUs by number, channel after channel; `nets`
// the NICs by which each comes in and leaves (-1: none).
struct NcclGraph {
  Pattern pattern;
  int least_channels;
  int most_channels;
  int cross_nic = 0;
  bool same_channels = true;
  int type_intra = LOC;
  int type_inter = PIX;
  float intra = 0;  // GB/s of a channel within the node
  float inter = 0;  // and to the NICs
  float latency_us = 0;
  float hops = 0;
  int channels = 0;
  std::vector<int> order{};
  std::vector<std::array<int, 2>> nets{};

  float total() const { return static_cast<float>(channels) * intra; }
};

// Ring: from 1 to 32 channels. Trees: as many as the ring has. `cross_nic` is NCCL_CROSS_NIC.
NcclGraph nccl_graph(const Wiring& wiring, Pattern pattern, int least_channels, int most_channels,
                     int cross_nic);

}  // namespace railgauge::topo
