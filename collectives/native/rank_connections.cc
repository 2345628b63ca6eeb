// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/rank_connections.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "collectives/native/rails.h"

namespace railgauge {

namespace {

constexpr StepRoute kAnyDevices{0, 0};  // where no plan names devices

bool is_over_sockets(const std::shared_ptr<Connection>& end) {
  return end && end->via().starts_with("NET/Socket");
}

// The ends of some wires, which it makes.
class Ends {
 public:
  Ends(int rank, const std::vector<Wire>& wires, Connector& connector) : rank_(rank) {
    const std::vector<std::shared_ptr<Connection>> made = connector.connect(wires);
    for (std::size_t i = 0; i < wires.size(); ++i) {
      const Wire& wire = wires[i];
      if (made[i]) ends_[{wire.channel, wire.source, wire.target}] = made[i];
    }
  }

  std::shared_ptr<Sender> to(int channel, int target) const {
    return std::dynamic_pointer_cast<Sender>(of(channel, rank_, target));
  }
  std::shared_ptr<Receiver> from(int channel, int source) const {
    return std::dynamic_pointer_cast<Receiver>(of(channel, source, rank_));
  }
  Pair pair(int channel, int peer) const { return {to(channel, peer), from(channel, peer)}; }
  bool over_sockets() const {
    return std::any_of(ends_.begin(), ends_.end(),
                       [](const auto& named) { return is_over_sockets(named.second); });
  }

 private:
  std::shared_ptr<Connection> of(int channel, int source, int target) const {
    const auto found = ends_.find({channel, source, target});
    return found == ends_.end() ? nullptr : found->second;
  }

  int rank_;
  std::map<std::tuple<int, int, int>, std::shared_ptr<Connection>> ends_;  // by channel, from, to
};

// Of rings or trees: their wires, on channels from `first` on.
template <class Channel>
std::vector<Wire> wires_of(const std::vector<Channel>& channels, int first) {
  std::vector<Wire> all;
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const std::vector<Wire> some = channels[i].wires(first + static_cast<int>(i));
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

RingChannel ring_channel(int rank, int channel, const std::vector<int>& order, const Ends& ends) {
  const int size = static_cast<int>(order.size());
  const int at = static_cast<int>(std::find(order.begin(), order.end(), rank) - order.begin());
  return {at, size, ends.to(channel, order[(at + 1) % size]),
          ends.from(channel, order[(at + size - 1) % size]), order};
}

TreeChannel tree_channel(int rank, int channel, const std::vector<int>& parents, const Ends& ends) {
  const auto edge = [&](int peer) {
    return TreeEdge{ends.to(channel, peer), ends.from(channel, peer)};
  };
  TreeChannel tree{edge(parents[rank]), {}};
  for (int child = 0; child < static_cast<int>(parents.size()); ++child) {
    if (parents[child] == rank) tree.children.push_back(edge(child));
  }
  return tree;
}

// Hypercubes that have no rank in common; empty where this rank is in none.
Cube cube_among(int rank, const std::vector<std::vector<int>>& orders, int channel,
                const RingRails& rails, Connector& connector, bool& over_sockets) {
  std::vector<Wire> wires;
  const std::vector<int>* own = nullptr;
  for (const std::vector<int>& order : orders) {
    const int size = static_cast<int>(order.size());
    for (int at = 0; at < size; ++at) {
      if (order[at] == rank) own = &order;
      for (int peer : CubePlace{at, size}.neighbours()) {
        wires.push_back({channel, order[at], order[peer], rails.step(order[at], order[peer])});
      }
    }
  }
  const Ends ends(rank, wires, connector);
  over_sockets |= ends.over_sockets();
  if (own == nullptr) return {};
  Cube cube{*own, static_cast<int>(std::find(own->begin(), own->end(), rank) - own->begin()), {}};
  for (int peer : *own) cube.peers.push_back(ends.pair(channel, peer));
  return cube;
}

std::vector<int> host_by_host(const std::vector<std::vector<int>>& hosts) {
  std::vector<int> order;
  for (const auto& host : hosts) order.insert(order.end(), host.begin(), host.end());
  return order;
}

// By position the ranks that have it on their hosts, for positions that all hosts have.
std::vector<std::vector<int>> by_position(const std::vector<std::vector<int>>& hosts) {
  std::vector<std::vector<int>> orders;
  for (int at = 0; at < Hosts{hosts}.rails(); ++at) {
    for (std::vector<int>& order = orders.emplace_back(); const auto& host : hosts) {
      order.push_back(host[at]);
    }
  }
  return orders;
}

}  // namespace

RankConnections connect(int rank, int ranks, const ConnectionPlan& plan, Connector& connector) {
  plan.check(ranks);
  RankConnections made;
  const int n_rings = static_cast<int>(plan.rings.size());
  const int after_trees = n_rings + static_cast<int>(plan.trees.size());
  if (plan.hosts.size() > 1) made.hosts = {plan.hosts, Hosts{plan.hosts}.of(rank)};
  if (!plan.rings.empty()) {
    const Ends ends(rank, wires_of(plan.rings, 0), connector);
    made.over_sockets |= ends.over_sockets();
    for (int i = 0; i < n_rings; ++i) {
      made.rings.push_back(ring_channel(rank, i, plan.rings[i].order, ends));
    }
  }
  if (!plan.trees.empty()) {
    const Ends ends(rank, wires_of(plan.trees, n_rings), connector);
    made.over_sockets |= ends.over_sockets();
    for (int i = n_rings; i < after_trees; ++i) {
      made.trees.push_back(tree_channel(rank, i, plan.trees[i - n_rings].parents, ends));
    }
  }
  const RingRails rails(plan);
  if (plan.cube) {
    made.cube = cube_among(rank, {host_by_host(plan.hosts)}, after_trees + 1, rails, connector,
                           made.over_sockets);
  }
  if (plan.across) {
    made.across = cube_among(rank, by_position(plan.hosts), after_trees + 2, rails, connector,
                             made.over_sockets);
  }
  if (plan.segments) made.segment = connector.shared_segment(plan.host_of(rank));
  return made;
}

std::vector<Pair> connect_pairs(int rank, int ranks, const std::vector<Wire>& wires,
                                Connector& connector) {
  std::vector<Pair> pairs(ranks);
  const Ends ends(rank, wires, connector);
  for (const Wire& wire : wires) {
    if (wire.source == rank) pairs[wire.target].to = ends.to(wire.channel, wire.target);
    if (wire.target == rank) pairs[wire.source].from = ends.from(wire.channel, wire.source);
  }
  return pairs;
}

std::vector<Pair> connect_pairs(int rank, int ranks, const Hosts& hosts, int channel,
                                Connector& connector) {
  std::vector<int> host(ranks);
  for (int one = 0; one < static_cast<int>(hosts.ranks.size()); ++one) {
    for (int there : hosts.ranks[one]) host[there] = one;
  }
  std::vector<Wire> wires;
  for (int a = 0; a < ranks; ++a) {
    for (int b = 0; b < ranks; ++b) {
      if (a == b) continue;
      const bool together = host[a] == host[b];
      wires.push_back({channel, a, b, together ? std::nullopt : std::optional(kAnyDevices)});
    }
  }
  return connect_pairs(rank, ranks, wires, connector);
}

bool over_sockets(const std::vector<Pair>& pairs) {
  return std::any_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
    return is_over_sockets(pair.to) || is_over_sockets(pair.from);
  });
}

}  // namespace railgauge
