// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/channels.h"

#include <algorithm>
#include <cstring>

namespace railgauge::gpu {

namespace {

// This rank's place, except for the order, which is in the GPU's memory.
Channel place_in(const PlannedChannel& planned, int rank, const StagingBuffers& buffers) {
  const int ranks = static_cast<int>(planned.ring.size());
  const auto found = std::find(planned.ring.begin(), planned.ring.end(), rank);
  if (found == planned.ring.end() || planned.parents.size() != planned.ring.size())
    throw Error(ErrorCode::kInvalid, "a channel must contain all ranks");
  const int place = static_cast<int>(found - planned.ring.begin());
  const auto in = [&](int peer) { return peer < 0 ? StagingBuffer{} : buffers.in(peer); };
  const auto out = [&](int peer) { return peer < 0 ? StagingBuffer{} : buffers.out(peer); };
  Channel channel{};
  channel.position = place;
  channel.previous = planned.ring[(place + ranks - 1) % ranks];
  channel.next = planned.ring[(place + 1) % ranks];
  channel.parent = planned.parents[rank];
  std::fill_n(channel.child, kMostChildren, -1);
  int children = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    if (planned.parents[peer] != rank) continue;
    if (children == kMostChildren)
      throw Error(ErrorCode::kInvalid, "a tree node has too many children");
    channel.child[children++] = peer;
  }
  channel.from_previous = in(channel.previous), channel.to_previous = out(channel.previous);
  channel.from_next = in(channel.next), channel.to_next = out(channel.next);
  channel.from_parent = in(channel.parent), channel.to_parent = out(channel.parent);
  for (int i = 0; i < kMostChildren; ++i) {
    channel.from_child[i] = in(channel.child[i]), channel.to_child[i] = out(channel.child[i]);
  }
  return channel;
}

}  // namespace

Channels::Channels(int device, int rank, const StagingBuffers& buffers,
                   const std::vector<PlannedChannel>& planned)
    : planned_(planned),
      memory_(device, planned.size() * (sizeof(Channel) + buffers.ranks() * sizeof(int))) {
  const std::size_t places = planned.size() * sizeof(Channel),
                    order = buffers.ranks() * sizeof(int);
  std::vector<std::byte> all(memory_.size());
  for (std::size_t i = 0; i < planned.size(); ++i) {
    if (static_cast<int>(planned[i].ring.size()) != buffers.ranks())
      throw Error(ErrorCode::kInvalid, "a channel must contain all ranks");
    Channel channel = place_in(planned[i], rank, buffers);
    const std::size_t at = places + i * order;
    channel.order = reinterpret_cast<const int*>(memory_.pointer() + at);
    std::memcpy(all.data() + i * sizeof channel, &channel, sizeof channel);
    std::memcpy(all.data() + at, planned[i].ring.data(), order);
  }
  if (!all.empty()) memory_.write(all.data(), all.size());
}

}  // namespace railgauge::gpu
