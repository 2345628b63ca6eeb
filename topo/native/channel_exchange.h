// SPDX-License-Identifier: Apache-2.0
// Sets of channels made better by exchange: one or two of a set for others that are known, as long
// as the heaviest loads fall.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "topo/native/lightest_channel.h"

namespace railgauge::topo {

class ChannelExchange {
 public:
  // `pool`: what may be put in. `effort`: elementary steps for all sets together.
  ChannelExchange(const ChannelSpace& space, const std::vector<Lanes>& pool, double effort);

  std::vector<Lanes> improved(const std::vector<Lanes>& set);
  bool spent() const { return effort_ <= 0; }

 private:
  using Taken = std::vector<double>;  // by row, a share of its capacity
  using Numbers = std::vector<int>;   // in the pool

  struct Swap {
    double cost;
    Numbers out, in;
  };

  int number(const Lanes& lanes);
  void put(Taken& taken, int number, double sign) const;
  double cost(const Taken& taken) const;
  void try_one(Taken& taken, const Numbers& out, Swap& best);
  void try_two(Taken& taken, const Numbers& out, Swap& best);
  Swap best_swap(Taken taken, const Numbers& members);

  const ChannelSpace& space_;
  double effort_;
  double heaviest_ = 1;
  std::vector<Lanes> pool_;
  std::vector<Taken> takes_;
  std::map<std::vector<std::pair<int, double>>, int> numbers_;  // by what they take
};

}  // namespace railgauge::topo
