// SPDX-License-Identifier: Apache-2.0
#include "topo/native/channel_exchange.h"

#include <algorithm>
#include <cmath>

namespace railgauge::topo {

static constexpr int DOUBLINGS = 6;  // a load costs its 64th power: the heaviest ones decide
static constexpr double NOTEWORTHY = 1e-9;

ChannelExchange::ChannelExchange(const ChannelSpace& space, const std::vector<Lanes>& pool,
                                 double effort)
    : space_(space), effort_(effort) {
  for (const Lanes& lanes : pool) number(lanes);
}

// Of those that take the same from all rows one is enough.
int ChannelExchange::number(const Lanes& lanes) {
  std::vector<std::pair<int, double>> key;
  for (auto [row, part] : lanes.load) key.push_back({row, part});
  const auto [at, added] = numbers_.try_emplace(std::move(key), static_cast<int>(pool_.size()));
  if (added) {
    pool_.push_back(lanes);
    takes_.emplace_back(space_.rows().size(), 0.0);
    for (auto [row, part] : lanes.load) takes_.back()[row] = part / space_.rows()[row].gb_per_s;
  }
  return at->second;
}

void ChannelExchange::put(Taken& taken, int number, double sign) const {
  for (std::size_t row = 0; row < taken.size(); ++row) taken[row] += sign * takes_[number][row];
}

double ChannelExchange::cost(const Taken& taken) const {
  const double scale = 1 / heaviest_;
  double total = 0;
  for (double share : taken) {
    double power = share * scale;
    for (int i = 0; i < DOUBLINGS; ++i) power *= power;
    total += power;
  }
  return total;
}

// The one that costs least beside what is taken.
void ChannelExchange::try_one(Taken& taken, const Numbers& out, Swap& best) {
  Taken with(taken.size());
  for (int in = 0; in < static_cast<int>(pool_.size()); ++in) {
    for (std::size_t row = 0; row < taken.size(); ++row) with[row] = taken[row] + takes_[in][row];
    const double found = cost(with);
    if (found < best.cost) best = {found, out, {in}};
  }
  effort_ -= static_cast<double>(pool_.size() * taken.size());
}

void ChannelExchange::try_two(Taken& taken, const Numbers& out, Swap& best) {
  for (int in = 0; in < static_cast<int>(pool_.size()) && !spent(); ++in) {
    put(taken, in, 1);
    Swap rest{best.cost, {}, {}};
    try_one(taken, out, rest);
    put(taken, in, -1);
    if (rest.cost < best.cost) best = {rest.cost, out, {in, rest.in[0]}};
  }
}

// Two at once only where no single exchange helps.
ChannelExchange::Swap ChannelExchange::best_swap(Taken taken, const Numbers& members) {
  Swap best{cost(taken) * (1 - NOTEWORTHY), {}, {}};
  for (int out : members) {
    put(taken, out, -1);
    try_one(taken, {out}, best);
    put(taken, out, 1);
  }
  if (!best.out.empty()) return best;
  for (std::size_t a = 0; a < members.size(); ++a)
    for (std::size_t b = a + 1; b < members.size(); ++b) {
      if (b > a + 1 && members[b] == members[b - 1]) continue;
      if (a > 1 && members[a] == members[a - 2]) continue;
      put(taken, members[a], -1), put(taken, members[b], -1);
      try_two(taken, {members[a], members[b]}, best);
      put(taken, members[a], 1), put(taken, members[b], 1);
    }
  return best;
}

std::vector<Lanes> ChannelExchange::improved(const std::vector<Lanes>& set) {
  Numbers numbers;
  Taken taken(space_.rows().size(), 0.0);
  for (const Lanes& lanes : set) {
    numbers.push_back(number(lanes));
    put(taken, numbers.back(), 1);
  }
  while (!spent()) {
    heaviest_ = *std::max_element(taken.begin(), taken.end());
    Numbers members = numbers;
    std::sort(members.begin(), members.end());
    members.erase(std::unique(members.begin(), members.end()), members.end());
    const Swap swap = best_swap(taken, members);
    if (swap.out.empty()) break;
    for (std::size_t i = 0; i < swap.out.size(); ++i) {
      *std::find(numbers.begin(), numbers.end(), swap.out[i]) = swap.in[i];
      put(taken, swap.out[i], -1), put(taken, swap.in[i], 1);
    }
  }
  std::vector<Lanes> improved;
  for (int number : numbers) improved.push_back(pool_[number]);
  return improved;
}

}  // namespace railgauge::topo
