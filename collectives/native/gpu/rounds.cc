// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/rounds.h"

#include <algorithm>
#include <iterator>

namespace railgauge::gpu {

namespace {

constexpr int kDistances = (kMostRanks - 1) / 2;  // of a round, before and behind

void keep(Pairs& pairs, const std::byte* from, std::byte* to, std::size_t count) {
  pairs.own = from == to || !count ? nullptr : from;
  pairs.kept = to;
  pairs.own_count = pairs.own ? count : 0;
}

}  // namespace

Pairs in_pairs(const Operation& o, int rank, int ranks) {
  Pairs pairs(ranks);
  const std::size_t each = o.count * o.element_bytes();
  const bool is_root = rank == o.root;
  const auto give = [&](int peer, std::size_t at) {
    pairs.give[peer] = o.source + at, pairs.give_count[peer] = o.count;
  };
  const auto land = [&](int peer, std::size_t at) {
    pairs.land[peer] = o.destination + at, pairs.land_count[peer] = o.count;
  };
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == rank) continue;
    switch (o.collective) {
      case Collective::kAllToAll:
        give(peer, peer * each), land(peer, peer * each);
        break;
      case Collective::kGather:
        if (is_root) land(peer, peer * each);
        if (peer == o.root) give(peer, 0);
        break;
      case Collective::kScatter:
        if (is_root) give(peer, peer * each);
        if (peer == o.root) land(peer, 0);
        break;
      default:  // sendrecv
        if (peer == (rank + 1) % ranks) give(peer, 0);
        if (rank == (peer + 1) % ranks) land(peer, 0);
    }
  }
  if (o.collective == Collective::kAllToAll)
    keep(pairs, o.source + rank * each, o.destination + rank * each, o.count);
  if (o.collective == Collective::kGather && is_root)
    keep(pairs, o.source, o.destination + rank * each, o.count);
  if (o.collective == Collective::kScatter && is_root)
    keep(pairs, o.source + rank * each, o.destination, o.count);
  return pairs;
}

Pairs in_parts(const std::byte* source, const std::vector<std::size_t>& to, std::byte* destination,
               const std::vector<std::size_t>& from, std::size_t element_bytes, int rank) {
  const int ranks = static_cast<int>(to.size());
  Pairs pairs(ranks);
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == rank) {
      keep(pairs, source, destination, to[peer]);
    } else {
      pairs.give[peer] = source, pairs.give_count[peer] = to[peer];
      pairs.land[peer] = destination, pairs.land_count[peer] = from[peer];
    }
    source += to[peer] * element_bytes;
    destination += from[peer] * element_bytes;
  }
  return pairs;
}

std::vector<std::vector<int>> rounds(int rank, int ranks) {
  std::vector<std::vector<int>> found;
  if (ranks <= kMostRanks) {
    found.emplace_back();
    for (int step = 0; step < ranks; ++step) found.back().push_back((rank + step) % ranks);
    return found;
  }
  for (int distance = 1; distance <= ranks / 2; ++distance) {
    if ((distance - 1) % kDistances == 0) found.push_back({rank});
    const int behind = (rank + ranks - distance) % ranks, before = (rank + distance) % ranks;
    found.back().push_back(before);
    if (behind != before) found.back().push_back(behind);
  }
  return found;
}

Exchange in_round(const Pairs& pairs, const std::vector<int>& members, bool first) {
  Exchange e{};
  for (std::size_t i = 1; i < members.size(); ++i) {
    const int peer = members[i];
    e.give[i] = pairs.give[peer], e.give_count[i] = pairs.give_count[peer];
    e.land[i] = pairs.land[peer], e.land_count[i] = pairs.land_count[peer];
  }
  if (first) e.own = pairs.own, e.result = pairs.kept, e.reduce_count = pairs.own_count;
  return e;
}

bool moves(const Exchange& e) {
  const auto any = [](const auto& counts) {
    return std::any_of(std::begin(counts), std::end(counts), [](auto count) { return count != 0; });
  };
  return any(e.give_count) || any(e.land_count) || e.reduce_count != 0;
}

}  // namespace railgauge::gpu
