// SPDX-License-Identifier: Apache-2.0
// The channel that weighs least, given what a GB/s weighs on each row: what a packing or a proof
// asks for next.
#pragma once

#include <vector>

#include "topo/native/channel_space.h"
#include "topo/native/tour.h"

namespace railgauge::topo {

// By which NICs a channel may leave: those of the port it came in by; any; or any, in pairs of
// rings each of which leaves by the NIC that the other one comes in by (crossNic 2 of NCCL, which
// swaps the two on every other node).
enum class Crossing { none, any, pairs };

// One channel, or a pair, and what they take together.
struct Lanes {
  std::vector<CandidateChannel> channels;  // none: not possible
  Shares load;
};

class LightestChannel {
 public:
  LightestChannel(const ChannelSpace& space, Crossing crossing);

  int at_once() const { return paired_ ? 2 : 1; }            // channels in Lanes
  Lanes lightest(const std::vector<double>& weights) const;  // up to MOST_EXACT_STOPS GPUs
  Lanes light(const std::vector<double>& weights) const;     // not always the lightest, but fast
  double least_weight(const std::vector<double>& weights) const;  // no channel weighs less
  double weight(const Lanes& lanes, const std::vector<double>& weights) const;  // of one channel

 private:
  using Search = Tour (*)(const TourWeights&);
  using Weights = std::vector<double>;

  struct Gates {
    std::vector<int> in, out;
  };

  Lanes lanes(Search search, const Weights& weights) const;
  Lanes pair(Search search, const Weights& ends, const Weights& weights) const;
  Weights between_ends(const Weights& weights) const;
  std::vector<TourWeights> tours(const Weights& ends, const std::vector<Gates>& gates) const;
  CandidateChannel channel(Search search, const Weights& ends,
                           const std::vector<Gates>& gates) const;
  double head(const Weights& ends, const Gates& gates, int first, int second) const;
  double entry(const Weights& ends, int net, int first) const;
  double leave(const Weights& ends, int net, const std::vector<int>& order) const;
  int count() const { return space_.gpus() + space_.nets(); }

  const ChannelSpace& space_;
  bool paired_;
  std::vector<Gates> gates_;
};

}  // namespace railgauge::topo
