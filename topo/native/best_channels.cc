// SPDX-License-Identifier: Apache-2.0
#include "topo/native/best_channels.h"

#include <algorithm>
#include <cmath>

namespace railgauge::topo {

static constexpr double WORTH = 1e-3;  // crossing NICs is worth no less

static double most(const std::map<int, Packed>& by_count) {
  double total = 0;
  for (const auto& [count, packed] : by_count) total = std::max(total, packed.total());
  return total;
}

static std::vector<Lanes> loaded(const ChannelSpace& space, const std::vector<Lanes>& known) {
  std::vector<Lanes> again;
  for (const Lanes& lanes : known)
    for (const CandidateChannel& channel : lanes.channels)
      again.push_back({{channel}, space.load(channel)});
  return again;
}

BestChannels best_channels(const Wiring& wiring, Pattern pattern, int most_channels,
                           double top_gb_per_s, int cross_nic, const std::set<int>& wanted,
                           const std::vector<std::vector<CandidateChannel>>& others) {
  const ChannelSpace space(wiring, pattern, Loads::all);
  const ChannelSpace provable(wiring, pattern, Loads::provable);
  const bool may_cross = cross_nic != 0 && space.rail_count() > 1;
  const Crossing freely = cross_nic == 0 ? Crossing::none : Crossing::any;

  const LightestChannel straight(space, Crossing::none), any(provable, freely);
  const bool at_once = space.provable() && !may_cross;
  FractionalPacking fractions = fractional_packing(space, straight, {}, at_once);
  const FractionalPacking proof =
      at_once ? fractions
              : fractional_packing(provable, any, loaded(provable, fractions.known), true);

  BestChannels best;
  best.bound = proof.bound;
  for (std::size_t row = 0; row < proof.weights.size(); ++row)
    if (proof.weights[row] > 0)
      best.weights.push_back({provable.rows()[row].link, proof.weights[row]});
  PackingTask task{most_channels, wanted, top_gb_per_s,
                   std::min(fractions.gb_per_s, most_channels * top_gb_per_s)};
  if (!fractions.used.empty())
    best.by_count = pack_channels(space, straight, fractions, task, others);

  const double reached = most(best.by_count);
  if (may_cross && reached < std::min(proof.bound, most_channels * top_gb_per_s) * (1 - WORTH)) {
    const LightestChannel crossing(space, cross_nic == 1 ? Crossing::any : Crossing::pairs);
    fractions = fractional_packing(space, crossing, {}, false);
    task.goal = std::min(fractions.gb_per_s, most_channels * top_gb_per_s);
    if (task.goal > reached * (1 + WORTH)) {
      auto by_count = pack_channels(space, crossing, fractions, task, others);
      if (most(by_count) > reached * (1 + WORTH)) {
        best.by_count = std::move(by_count);
        best.crossed = true;
      }
    }
  }
  return best;
}

static std::vector<double> taken(const ChannelSpace& space,
                                 const std::vector<CandidateChannel>& channels, double inside,
                                 double outside) {
  std::vector<double> shares(space.rows().size(), 0.0);
  for (const CandidateChannel& channel : channels)
    for (auto [row, part] : space.load(channel, inside, outside))
      shares[row] += part / space.rows()[row].gb_per_s;
  return shares;
}

double channel_load(const Wiring& wiring, Pattern pattern,
                    const std::vector<CandidateChannel>& channels, double inside, double outside) {
  const auto shares = taken(ChannelSpace(wiring, pattern, Loads::all), channels, inside, outside);
  return *std::max_element(shares.begin(), shares.end());
}

double speed_inside(const Wiring& wiring, Pattern pattern,
                    const std::vector<CandidateChannel>& channels, double outside) {
  const ChannelSpace space(wiring, pattern, Loads::all);
  const auto to_nets = taken(space, channels, 0, outside), between = taken(space, channels, 1, 0);
  double most = HUGE_VAL;
  for (std::size_t row = 0; row < between.size(); ++row)
    if (between[row] > 0) most = std::min(most, (1 - to_nets[row]) / between[row]);
  return most;
}

}  // namespace railgauge::topo
