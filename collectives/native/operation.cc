// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/operation.h"

namespace railgauge {

namespace {

constexpr const char* kCollectiveNames[kOperations] = {
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall",
    "gather",     "scatter",    "sendrecv",       "alltoallv", "barrier"};
constexpr const char* kRedopNames[kHostRedops] = {"sum", "prod", "min", "max",
                                                  "avg", "band", "bor", "bxor"};

}  // namespace

const char* collective_name(Collective collective) {
  return kCollectiveNames[static_cast<int>(collective)];
}

const char* redop_name(Redop op) { return kRedopNames[static_cast<int>(op)]; }

std::size_t Operation::bytes(int ranks) const {
  switch (collective) {
    case Collective::kAllReduce:
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kSendRecv:
      return count * element_bytes();
    default:
      return count * element_bytes() * ranks;
  }
}

Extent Operation::extent(int rank, int ranks) const {
  const std::size_t all = count * ranks, at = rank * count;
  const bool is_root = rank == root;
  switch (collective) {
    case Collective::kAllGather:
      return {count, all, at, 0};
    case Collective::kReduceScatter:
      return {all, count, 0, at};
    case Collective::kAllToAll:
      return {all, all};
    case Collective::kBroadcast:
      return {is_root ? count : 0, count};
    case Collective::kReduce:
      return {count, is_root ? count : 0};
    case Collective::kGather:
      return is_root ? Extent{count, all, at, 0} : Extent{count, 0};
    case Collective::kScatter:
      return is_root ? Extent{all, count, 0, at} : Extent{0, count};
    default:
      return {count, count};
  }
}

bool Operation::is_in_place(int rank, int ranks) const {
  const Extent here = extent(rank, ranks);
  return source + here.destination_at * element_bytes() ==
         destination + here.source_at * element_bytes();
}

}  // namespace railgauge
