// SPDX-License-Identifier: Apache-2.0
// One collective between GPUs: the arrays of its ranks, and what has to be in them.
#pragma once

#include <algorithm>
#include <vector>

#include "collectives/native/operation.h"

namespace railgauge::gpu {

using Array = std::vector<std::int64_t>;

inline std::int64_t input(int rank, std::size_t index) {
  return 1000 * (rank + 1) + 7 * (index % 131);
}

// One rank with its arrays; in place the smaller one lies in the larger.
struct Rank {
  Array source, destination;
  Operation operation;

  Rank(Operation asked, int rank, int ranks, bool in_place) : operation(asked) {
    const Extent e = operation.extent(rank, ranks);
    source.resize(e.source);
    for (std::size_t i = 0; i < e.source; ++i) source[i] = input(rank, i);
    destination.assign(e.destination, -1);
    std::int64_t *from = source.data(), *to = e.destination ? destination.data() : nullptr;
    if (in_place && e.source && e.destination) {
      if (e.destination >= e.source) {
        std::copy(source.begin(), source.end(), destination.begin() + e.source_at);
        from = to + e.source_at;
      } else {
        to = from + e.destination_at;
      }
    }
    operation.source = reinterpret_cast<const std::byte*>(from);
    operation.destination = reinterpret_cast<std::byte*>(to);
  }
};

inline std::int64_t expected(const Operation& o, int rank, int ranks, std::size_t index) {
  const std::size_t n = o.count;
  std::int64_t sum = 0;
  switch (o.collective) {
    case Collective::kReduceScatter:
      index += rank * n;
      [[fallthrough]];
    case Collective::kAllReduce:
    case Collective::kReduce:
      for (int each = 0; each < ranks; ++each) sum += input(each, index);
      return sum;
    case Collective::kAllGather:
    case Collective::kGather:
      return input(static_cast<int>(index / n), index % n);
    case Collective::kAllToAll:
      return input(static_cast<int>(index / n), rank * n + index % n);
    case Collective::kBroadcast:
      return input(o.root, index);
    case Collective::kScatter:
      return input(o.root, rank * n + index);
    default:
      return input((rank + ranks - 1) % ranks, index);
  }
}

// Whether a rank got what it has to.
inline bool is_right(const Rank& one, int rank, int ranks) {
  const auto* got = reinterpret_cast<const std::int64_t*>(one.operation.destination);
  const std::size_t size = got ? one.operation.extent(rank, ranks).destination : 0;
  for (std::size_t i = 0; i < size; ++i)
    if (got[i] != expected(one.operation, rank, ranks, i)) return false;
  return true;
}

}  // namespace railgauge::gpu
