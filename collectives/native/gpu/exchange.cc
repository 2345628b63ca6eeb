// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/exchange.h"

#include <algorithm>

namespace railgauge::gpu {

namespace {

constexpr std::size_t kPartBytes = 128;  // parts begin at multiples, so that vectors stay aligned

// Builds an Exchange; counts and places are of elements.
class Builder {
 public:
  Builder(const Operation& o, int rank, int ranks) : o_(o), rank_(rank) {
    e_.reduction = reduction_of(o, ranks);
  }

  void give(int peer, std::size_t at, std::size_t count) {
    if (peer == rank_) return;
    e_.give[peer] = source(at);
    e_.give_count[peer] = count;
  }
  void land(int peer, std::size_t at, std::size_t count) {
    if (peer == rank_) return;
    e_.land[peer] = destination(at);
    e_.land_count[peer] = count;
  }
  void take(int peer, std::size_t at, std::size_t count) {
    if (peer == rank_) return;
    e_.take[peer] = destination(at);
    e_.take_count[peer] = count;
  }
  // Of the inputs of these ranks, and the own one if that bit is set, to a place in the
  // destination.
  void reduce(std::uint32_t from, std::size_t own_at, std::size_t to, std::size_t count) {
    e_.own = from >> rank_ & 1 ? source(own_at) : nullptr;
    e_.result = o_.destination ? destination(to) : nullptr;
    e_.reduce_count = count;
    e_.reduce_from = from & ~(1u << rank_);
  }
  // The own input to its place, if it does not lie there.
  void keep(std::size_t from, std::size_t to, std::size_t count) {
    if (source(from) != destination(to)) reduce(1u << rank_, from, to, count);
  }
  // The result is only shared: only the root has a destination.
  void keep_nothing() { e_.result = nullptr; }
  void share(std::uint32_t with) { e_.share_with = with & ~(1u << rank_); }
  const Exchange& built() const { return e_; }

 private:
  const std::byte* source(std::size_t at) const { return o_.source + at * o_.element_bytes(); }
  std::byte* destination(std::size_t at) const { return o_.destination + at * o_.element_bytes(); }

  const Operation& o_;
  const int rank_;
  Exchange e_{};
};

std::uint32_t everybody(int ranks) { return (1u << ranks) - 1; }

// `count` elements in parts for so many owners.
struct Parts {
  std::size_t each, count;
  Parts(const Operation& o, int owners) : count(o.count) {
    const std::size_t step = kPartBytes / o.element_bytes();
    each = ((count + owners - 1) / owners + step - 1) / step * step;
  }
  std::size_t begin(int part) const { return std::min(count, part * each); }
  std::size_t size(int part) const { return begin(part + 1) - begin(part); }
};

Exchange all_reduce(const Operation& o, int rank, int ranks) {
  Builder built(o, rank, ranks);
  const Parts parts(o, ranks);
  for (int peer = 0; peer < ranks; ++peer) {
    built.give(peer, parts.begin(peer), parts.size(peer));
    built.take(peer, parts.begin(peer), parts.size(peer));
  }
  built.reduce(everybody(ranks), parts.begin(rank), parts.begin(rank), parts.size(rank));
  built.share(everybody(ranks));
  return built.built();
}

Exchange reduce(const Operation& o, int rank, int ranks) {
  Builder built(o, rank, ranks);
  const Parts parts(o, ranks);
  for (int peer = 0; peer < ranks; ++peer) {
    built.give(peer, parts.begin(peer), parts.size(peer));
    if (rank == o.root) built.take(peer, parts.begin(peer), parts.size(peer));
  }
  built.reduce(everybody(ranks), parts.begin(rank), parts.begin(rank), parts.size(rank));
  if (rank != o.root) built.keep_nothing();
  built.share(1u << o.root);
  return built.built();
}

Exchange broadcast(const Operation& o, int rank, int ranks) {
  Builder built(o, rank, ranks);
  const Parts parts(o, ranks - 1);  // the root owns none: its links are busy with the input
  const auto owned = [&](int owner) { return owner < o.root ? owner : owner - 1; };
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == o.root) continue;
    const std::size_t at = parts.begin(owned(peer)), size = parts.size(owned(peer));
    if (rank == o.root)
      built.give(peer, at, size);
    else
      built.take(peer, at, size);
  }
  if (rank == o.root) {
    built.keep(0, 0, o.count);
  } else {
    const std::size_t at = parts.begin(owned(rank));
    built.reduce(1u << o.root, 0, at, parts.size(owned(rank)));
    built.share(everybody(ranks) & ~(1u << o.root));
  }
  return built.built();
}

}  // namespace

ReduceOp reduction_of(const Operation& o, int ranks) {
  if (!o.reduces() || o.op != Redop::kAvg) return {o.op, 0};
  return {Redop::kSum, static_cast<std::uint32_t>(ranks)};
}

Exchange in_one_step(const Operation& o, int rank, int ranks) {
  Builder built(o, rank, ranks);
  const std::size_t n = o.count;
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  const bool is_root = rank == o.root;
  switch (o.collective) {
    case Collective::kAllReduce:
      for (int peer = 0; peer < ranks; ++peer) built.give(peer, 0, n);
      built.reduce(everybody(ranks), 0, 0, n);
      break;
    case Collective::kReduce:
      built.give(o.root, 0, n);
      if (is_root) built.reduce(everybody(ranks), 0, 0, n);
      break;
    case Collective::kReduceScatter:
      for (int peer = 0; peer < ranks; ++peer) built.give(peer, peer * n, n);
      built.reduce(everybody(ranks), rank * n, 0, n);
      break;
    case Collective::kAllGather:
      for (int peer = 0; peer < ranks; ++peer)
        built.give(peer, 0, n), built.land(peer, peer * n, n);
      built.keep(0, rank * n, n);
      break;
    case Collective::kAllToAll:
      for (int peer = 0; peer < ranks; ++peer) {
        built.give(peer, peer * n, n);
        built.land(peer, peer * n, n);
      }
      built.keep(rank * n, rank * n, n);
      break;
    case Collective::kBroadcast:
      for (int peer = 0; is_root && peer < ranks; ++peer) built.give(peer, 0, n);
      is_root ? built.keep(0, 0, n) : built.land(o.root, 0, n);
      break;
    case Collective::kGather:
      built.give(o.root, 0, n);
      for (int peer = 0; is_root && peer < ranks; ++peer) built.land(peer, peer * n, n);
      if (is_root) built.keep(0, rank * n, n);
      break;
    case Collective::kScatter:
      for (int peer = 0; is_root && peer < ranks; ++peer) built.give(peer, peer * n, n);
      is_root ? built.keep(rank * n, 0, n) : built.land(o.root, 0, n);
      break;
    case Collective::kSendRecv:
      built.give(next, 0, n);
      built.land(previous, 0, n);
      if (ranks == 1) built.keep(0, 0, n);
      break;
    case Collective::kAllToAllV:
    case Collective::kBarrier:
      break;
  }
  return built.built();
}

Exchange in_two_steps(const Operation& o, int rank, int ranks) {
  if (ranks == 1) return in_one_step(o, rank, ranks);
  switch (o.collective) {
    case Collective::kAllReduce:
      return all_reduce(o, rank, ranks);
    case Collective::kReduce:  // with two ranks the root receives the same amount either way
      return ranks == 2 ? in_one_step(o, rank, ranks) : reduce(o, rank, ranks);
    case Collective::kBroadcast:
      return broadcast(o, rank, ranks);
    default:
      return in_one_step(o, rank, ranks);
  }
}

void on_registered(const Operation& o, int rank, int ranks, RegisteredArguments& a) {
  // Reduced data is read by the owners of parts; data that is only moved is written to its
  // destination.
  const auto transfers = o.reduces() ? in_two_steps : in_one_step;
  const Exchange own = transfers(o, rank, ranks);
  a.own = own.own;
  a.result = own.result;
  a.reduce_count = own.reduce_count;
  a.reduce_from = own.reduce_from;
  a.share_with = own.share_with;
  a.reduction = own.reduction;
  Operation there = o;  // as a peer sees it: places from the beginning of its arrays on
  std::byte* const beginning = reinterpret_cast<std::byte*>(kPartBytes);
  there.source = there.destination = beginning;
  const auto at = [&](const void* place) {
    return place ? static_cast<const std::byte*>(place) - beginning : 0;
  };
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == rank) continue;
    const Exchange theirs = transfers(there, peer, ranks);
    a.reduce_at[peer] = at(theirs.give[rank]);
    a.share_at[peer] = at(theirs.take[rank]);
    if (o.reduces()) continue;
    a.put[peer] = own.give[peer];
    a.put_count[peer] = own.give_count[peer];
    a.put_at[peer] = at(theirs.land[rank]);
  }
}

std::size_t longest(const Operation& o, int ranks, bool two_steps) {
  if (!two_steps || ranks == 1) return o.count * o.element_bytes();
  switch (o.collective) {
    case Collective::kReduce:
      return (ranks == 2 ? o.count : Parts(o, ranks).each) * o.element_bytes();
    case Collective::kAllReduce:
      return Parts(o, ranks).each * o.element_bytes();
    case Collective::kBroadcast:
      return Parts(o, ranks - 1).each * o.element_bytes();
    default:
      return o.count * o.element_bytes();
  }
}

}  // namespace railgauge::gpu
