// SPDX-License-Identifier: Apache-2.0
// A number of channels of one speed, chosen so that this speed is as high as the links allow.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "topo/native/fractional_packing.h"

namespace railgauge::topo {

struct Packed {
  std::vector<CandidateChannel> channels;
  double gb_per_s = 0;  // of each channel

  double total() const { return static_cast<double>(channels.size()) * gb_per_s; }
};

// Up to `most_channels`, none faster than `top_gb_per_s`; no search goes on once `goal` GB/s are
// reached. The numbers `wanted` (none: no matter how many) come first, and one of them has to reach
// it.
struct PackingTask {
  int most_channels;
  std::set<int> wanted;
  double top_gb_per_s;
  double goal;
};

// By number of channels: the best set found of each number. `others` are sets that someone else
// found.
std::map<int, Packed> pack_channels(const ChannelSpace& space, const LightestChannel& lightest,
                                    const FractionalPacking& fractions, const PackingTask& task,
                                    const std::vector<std::vector<CandidateChannel>>& others);

}  // namespace railgauge::topo
