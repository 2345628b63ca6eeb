// SPDX-License-Identifier: Apache-2.0
// The channels of a pattern that carry the most together, and the proof of how much any could.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "topo/native/nccl_search.h"
#include "topo/native/packing.h"

namespace railgauge::topo {

struct BestChannels {
  std::map<int, Packed> by_count;  // the best set found of each number of channels
  bool crossed = false;            // channels leave by other NICs than they came in by
  double bound = 0;                // GB/s: no channels carry more
  std::vector<std::pair<int, double>>
      weights;  // (link, weight) that prove it; any channel weighs 1 at least
};

// `cross_nic` is NCCL_CROSS_NIC: 0 never, 1 freely, 2 in pairs and only where it carries more.
// `others` are sets of channels found elsewhere, to start from; The numbers `wanted` (none: no
// matter) matter most. Needs two GPUs, or a NIC.
BestChannels best_channels(const Wiring& wiring, Pattern pattern, int most_channels,
                           double top_gb_per_s, int cross_nic, const std::set<int>& wanted,
                           const std::vector<std::vector<CandidateChannel>>& others);

// The greatest share of its capacity that a link has to carry when channels run at so many GB/s
// within the node and to the NICs: above 1 it cannot.
double channel_load(const Wiring& wiring, Pattern pattern,
                    const std::vector<CandidateChannel>& channels, double inside, double outside);

// The most GB/s within the node that leave room for `outside` GB/s of each channel to the NICs.
double speed_inside(const Wiring& wiring, Pattern pattern,
                    const std::vector<CandidateChannel>& channels, double outside);

}  // namespace railgauge::topo
