// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/connection_plan.h"

#include <algorithm>
#include <string>

#include "transports/native/error.h"

namespace railgauge {

namespace {

// Whether these are ranks 0 to ranks - 1, each once.
bool is_everybody(std::vector<int> some, int ranks) {
  std::sort(some.begin(), some.end());
  for (int rank = 0; rank < static_cast<int>(some.size()); ++rank) {
    if (some[rank] != rank) return false;
  }
  return static_cast<int>(some.size()) == ranks;
}

}  // namespace

std::vector<Wire> RingPlan::wires(int channel) const {
  std::vector<Wire> found;
  const std::size_t size = order.size();
  for (std::size_t at = 0; size > 1 && at < size; ++at) {
    found.push_back({channel, order[at], order[(at + 1) % size], routes[at]});
  }
  return found;
}

std::vector<Wire> TreePlan::wires(int channel) const {
  std::vector<Wire> found;
  for (int rank = 0; rank < static_cast<int>(parents.size()); ++rank) {
    if (parents[rank] < 0) continue;
    found.push_back({channel, rank, parents[rank], up[rank]});
    found.push_back({channel, parents[rank], rank, down[rank]});
  }
  return found;
}

int ConnectionPlan::ranks() const {
  std::size_t all = 0;
  for (const auto& host : hosts) all += host.size();
  return static_cast<int>(all);
}

const std::vector<int>& ConnectionPlan::host_of(int rank) const {
  return *std::find_if(hosts.begin(), hosts.end(), [&](const std::vector<int>& host) {
    return std::find(host.begin(), host.end(), rank) != host.end();
  });
}

void ConnectionPlan::check(int ranks) const {
  const std::size_t steps = ranks > 1 ? ranks : 0;
  std::vector<int> all;
  for (const auto& host : hosts) all.insert(all.end(), host.begin(), host.end());
  bool fits = is_everybody(all, ranks);
  for (const RingPlan& ring : rings) {
    fits = fits && is_everybody(ring.order, ranks) && ring.routes.size() >= steps;
  }
  for (const TreePlan& tree : trees) {
    const std::size_t size = tree.parents.size();
    fits = fits && static_cast<int>(size) == ranks && tree.up.size() == size &&
           tree.down.size() == size &&
           std::all_of(tree.parents.begin(), tree.parents.end(),
                       [&](int parent) { return parent < ranks; });
  }
  if (!fits) {
    throw Error(ErrorCode::kInvalid, "the plan is not for " + std::to_string(ranks) +
                                         " ranks: each host, ring and tree must name ranks 0 to " +
                                         std::to_string(ranks - 1) + " once");
  }
}

}  // namespace railgauge
