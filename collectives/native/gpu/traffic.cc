// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/traffic.h"

#include <algorithm>

namespace railgauge::gpu {

void TrafficCount::add(const Exchange& e, std::size_t element_bytes, std::uint64_t times) {
  for (int peer = 0; peer < static_cast<int>(by_rank_.size()); ++peer) {
    if (peer == rank_) continue;
    const bool reduces = e.reduce_from >> peer & 1, shares = e.share_with >> peer & 1;
    const std::size_t in = (reduces ? e.reduce_count : e.land_count[peer]) + e.take_count[peer];
    const std::size_t out = e.give_count[peer] + (shares ? e.reduce_count : 0);
    by_rank_[peer].sent += times * out * element_bytes;
    by_rank_[peer].received += times * in * element_bytes;
  }
}

void TrafficCount::add(const Pairs& pairs, std::size_t element_bytes, std::uint64_t times) {
  for (std::size_t peer = 0; peer < by_rank_.size(); ++peer) {
    by_rank_[peer].sent += times * pairs.give_count[peer] * element_bytes;
    by_rank_[peer].received += times * pairs.land_count[peer] * element_bytes;
  }
}

void TrafficCount::add(const GpuMessage& message) {
  Traffic& with = by_rank_[message.peer];
  (message.sends ? with.sent : with.received) += message.bytes;
}

// Shares of channels are taken as equal, and so are the parts of a ring's ranks.
void TrafficCount::add(const Operation& operation, const std::vector<PlannedChannel>& channels,
                       std::uint64_t times) {
  const std::uint64_t n = by_rank_.size(), whole = operation.count * operation.element_bytes();
  for (const PlannedChannel& channel : channels) {
    const auto& ring = channel.ring;
    const std::uint64_t place = std::find(ring.begin(), ring.end(), rank_) - ring.begin();
    const std::uint64_t root = std::find(ring.begin(), ring.end(), operation.root) - ring.begin();
    const std::uint64_t behind = (place + n - root) % n, share = whole / channels.size();
    std::uint64_t out = share, in = share;
    switch (operation.collective) {
      case Collective::kAllReduce:
        out = in = 2 * share * (n - 1) / n;
        break;
      case Collective::kAllGather:
      case Collective::kReduceScatter:
        out = in = share * (n - 1);
        break;
      case Collective::kBroadcast:
        out = behind + 1 < n ? share : 0, in = behind ? share : 0;
        break;
      default:
        out = behind ? share : 0, in = behind != 1 ? share : 0;
    }
    by_rank_[ring[(place + 1) % n]].sent += times * out;
    by_rank_[ring[(place + n - 1) % n]].received += times * in;
  }
}

}  // namespace railgauge::gpu
