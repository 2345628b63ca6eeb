// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/default_choices.h"

#include <algorithm>

#include "transports/native/shm/shared_segment.h"

namespace railgauge {

namespace {

constexpr std::size_t kAnySize = std::size_t{1} << 62;
constexpr std::size_t kOnePass = 256 << 10;  // until then a segment's slots hold all of the data
constexpr std::size_t kEachReducesAll = 4 << 10;  // of more than two ranks
constexpr std::size_t kDoubling = 16 << 10;       // between hosts, where steps take longest

// Up to which size a message's data lies in the cache line with its flag.
std::size_t in_a_line(Collective collective, std::size_t ranks) {
  switch (collective) {
    case Collective::kAllGather:
    case Collective::kGather:
      return shm::kShort * ranks;
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
    case Collective::kScatter:
      return shm::kShort / std::max<std::size_t>(1, ranks - 1) * ranks;
    default:
      return shm::kShort;
  }
}

std::vector<AlgorithmChoice> within_a_host(Collective collective, std::size_t ranks) {
  const bool two = ranks <= 2, all_reduce = collective == Collective::kAllReduce;
  const bool reduces_all = all_reduce || collective == Collective::kReduce;
  const bool from_one =
      collective == Collective::kAllGather || collective == Collective::kBroadcast;
  Algorithm beyond = Algorithm::kRing;
  if (collective > Collective::kReduce) beyond = Algorithm::kPairs;
  if (!two && all_reduce) beyond = Algorithm::kTwoShot;
  if (!two && from_one) beyond = Algorithm::kOneShot;
  return {{in_a_line(collective, ranks), Algorithm::kOneShot, 1, Protocol::kLl},
          {reduces_all && !two ? kEachReducesAll : kOnePass, Algorithm::kOneShot, 1},
          {kAnySize, beyond, 1}};
}

std::vector<AlgorithmChoice> between_hosts(Collective collective, bool hierarchy) {
  if (collective > Collective::kReduce) return {{kAnySize, Algorithm::kPairs, 1}};
  if (collective != Collective::kAllReduce) return {{kAnySize, Algorithm::kRing, 1}};
  return {{kDoubling, Algorithm::kRecursiveDoubling, 1},
          {kAnySize, hierarchy ? Algorithm::kHierarchical : Algorithm::kRing, 1}};
}

}  // namespace

ConnectionPlan default_plan(std::vector<std::vector<int>> hosts,
                            std::vector<std::vector<int>> rings) {
  ConnectionPlan plan;
  plan.hosts = std::move(hosts);
  std::size_t most = 0;
  std::vector<int> host_by_host, host_of(plan.ranks());
  for (std::size_t number = 0; number < plan.hosts.size(); ++number) {
    const std::vector<int>& host = plan.hosts[number];
    most = std::max(most, host.size());
    for (int rank : host) {
      host_by_host.push_back(rank);
      host_of[rank] = static_cast<int>(number);
    }
  }
  if (rings.empty()) rings.push_back(std::move(host_by_host));
  for (const std::vector<int>& order : rings) {
    plan.rings.push_back({order, Routes(order.size())});
  }
  plan.check(plan.ranks());
  for (RingPlan& ring : plan.rings) {
    for (std::size_t at = 0; at < ring.order.size(); ++at) {
      const int next = ring.order[(at + 1) % ring.order.size()];
      if (host_of[ring.order[at]] != host_of[next]) ring.routes[at] = StepRoute{0, 0};
    }
  }
  const bool several = plan.hosts.size() > 1, fits = most <= shm::kMostRanks;
  plan.cube = several;
  plan.across = several && most > 1 && fits;
  plan.segments = plan.across || (!several && most > 1 && fits);
  return plan;
}

std::vector<AlgorithmChoice> default_choices(Collective collective, const ConnectionPlan& plan) {
  if (plan.hosts.size() > 1) return between_hosts(collective, plan.across);
  if (plan.segments) return within_a_host(collective, static_cast<std::size_t>(plan.ranks()));
  const bool in_pairs = collective > Collective::kReduce;
  return {{kAnySize, in_pairs ? Algorithm::kPairs : Algorithm::kRing, 1}};
}

}  // namespace railgauge
