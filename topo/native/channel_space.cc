// SPDX-License-Identifier: Apache-2.0
#include "topo/native/channel_space.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace railgauge::topo {

static constexpr double SMALL_PACKETS = 6.0 / 5;  // INTEL_P2P_OVERHEAD of NCCL's src/graph/topo.h

static Shape shape_of(const Wiring& wiring, Pattern pattern) {
  if (!wiring.leaves) return pattern == Pattern::ring ? Shape::cycle : Shape::chain;
  if (pattern == Pattern::ring) return Shape::through;
  return pattern == Pattern::tree ? Shape::tree : Shape::balanced;
}

ChannelSpace::ChannelSpace(const Wiring& wiring, Pattern pattern, Loads loads)
    : gpus_(static_cast<int>(wiring.gpus.size())),
      nets_(wiring.leaves ? static_cast<int>(wiring.nets.size()) : 0),
      shape_(shape_of(wiring, pattern)) {
  std::map<std::pair<std::int64_t, int>, int> ports;
  for (int net = 0; net < nets_; ++net) {
    const auto& [asic, port] = std::pair(wiring.nets[net].asic, wiring.nets[net].port);
    rails_.push_back(ports.try_emplace({asic, port}, static_cast<int>(ports.size())).first->second);
  }
  rail_count_ = static_cast<int>(ports.size());
  add_steps(wiring, loads);
  if (loads == Loads::all) add_ports(wiring);
  keep_what_can_limit();
}

void ChannelSpace::add_steps(const Wiring& wiring, Loads loads) {
  for (int link = 0; link < static_cast<int>(wiring.links.size()); ++link)
    rows_.push_back({wiring.links[link].gb_per_s, link});
  const int ends = gpus_ + nets_;
  ways_.resize(static_cast<std::size_t>(ends) * ends);
  for (int from = 0; from < ends; ++from)
    for (int to = 0; to < ends; ++to) {
      const Step& step = wiring.step(from, to);
      if (from == to || step.type == DIS || (from >= gpus_ && to >= gpus_)) continue;
      std::map<int, double> parts;
      bool open = true;
      for (const Hop& hop : step.hops) {
        const WireLink& link = wiring.links[hop.link];
        const double part = step.small_packets && link.pci ? SMALL_PACKETS : 1.0;
        parts[hop.link] += part;
        open = open && link.gb_per_s > 0;
        if (loads == Loads::provable || hop.reverse == Reverse::none) continue;
        parts[hop.reverse_link] += hop.reverse == Reverse::full ? part : part / 8;
        provable_ = false;
      }
      Way& way = ways_[from * ends + to];
      way.open = open;
      for (auto [link, part] : parts) way.shares.push_back({link, part});
    }
}

// NICs of one port share what it carries, in and out (`ncclTopoSearchRecNet`).
void ChannelSpace::add_ports(const Wiring& wiring) {
  const int ends = gpus_ + nets_;
  for (int rail = 0; rail < rail_count_; ++rail) {
    if (std::count(rails_.begin(), rails_.end(), rail) < 2) continue;
    provable_ = false;
    const int in = static_cast<int>(rows_.size());
    double speed = 0;
    for (int net = 0; net < nets_; ++net) {
      if (rails_[net] != rail) continue;
      speed = std::max<double>(speed, wiring.nets[net].gb_per_s);
      for (int gpu = 0; gpu < gpus_; ++gpu) {
        ways_[(gpus_ + net) * ends + gpu].shares.push_back({in, 1.0});
        ways_[gpu * ends + gpus_ + net].shares.push_back({in + 1, 1.0});
      }
    }
    rows_.push_back({speed, -1});
    rows_.push_back({speed, -1});
  }
}

// Drops the rows that another one always limits first: one that takes at least the same part of its
// capacity wherever this one takes any.
void ChannelSpace::keep_what_can_limit() {
  std::vector<std::vector<std::pair<int, double>>> taken(rows_.size());
  for (int way = 0; way < static_cast<int>(ways_.size()); ++way)
    for (auto [row, part] : ways_[way].shares)
      taken[row].push_back({way, part / rows_[row].gb_per_s});
  auto covers = [&](int a, int b) {
    std::size_t at = 0;
    for (auto [way, part] : taken[b]) {
      while (at < taken[a].size() && taken[a][at].first < way) ++at;
      if (at == taken[a].size() || taken[a][at].first != way || taken[a][at].second < part)
        return false;
    }
    return true;
  };
  std::vector<int> number(rows_.size(), -1);
  std::vector<Row> kept;
  for (int b = 0; b < static_cast<int>(rows_.size()); ++b) {
    bool limits = !taken[b].empty();
    for (int a = 0; limits && a < static_cast<int>(rows_.size()); ++a) {
      if (a == b || taken[a].size() < taken[b].size()) continue;
      if (covers(a, b) && (a < b || !covers(b, a))) limits = false;
    }
    if (!limits) continue;
    number[b] = static_cast<int>(kept.size());
    kept.push_back(rows_[b]);
  }
  rows_ = std::move(kept);
  for (Way& way : ways_) {
    std::erase_if(way.shares, [&](const Share& share) { return number[share.row] < 0; });
    for (Share& share : way.shares) share.row = number[share.row];
  }
}

double ChannelSpace::step_weight(int from, int to, const std::vector<double>& weights) const {
  const Way& taken = way(from, to);
  if (!taken.open) return HUGE_VAL;
  double weight = 0;
  for (auto [row, part] : taken.shares) weight += part * weights[row];
  return weight;
}

Shares ChannelSpace::load(const CandidateChannel& channel, double inside, double outside) const {
  std::map<int, double> parts;
  auto take = [&](int from, int to, double share) {
    for (auto [row, part] : way(from, to).shares) parts[row] += part * share;
  };
  const auto& order = channel.gpus;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) take(order[i], order[i + 1], inside);
  if (shape_ == Shape::cycle) take(order.back(), order.front(), inside);
  if (leaves()) {
    const int in = gpus_ + channel.in, out = gpus_ + channel.out;
    take(in, order.front(), outside);
    if (shape_ == Shape::through) take(order.back(), out, outside);
    if (shape_ == Shape::tree) take(order.front(), out, outside);
    if (shape_ == Shape::balanced) {
      take(order[0], out, outside / 2);
      take(order[1], out, outside / 2);
    }
  }
  Shares shares;
  for (auto [row, part] : parts) shares.push_back({row, part});
  return shares;
}

}  // namespace railgauge::topo
