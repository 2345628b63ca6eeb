// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/operation.h"

#include <cstdint>
#include <limits>
#include <string>

#include "transports/native/error.h"

namespace railgauge {

namespace {

constexpr const char* kCollectiveNames[kOperations] = {
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall",
    "gather",     "scatter",    "sendrecv",       "alltoallv", "barrier"};
constexpr const char* kRedopNames[kHostRedops] = {"sum", "prod", "min", "max",
                                                  "avg", "band", "bor", "bxor"};

[[noreturn]] void refuse_operation(const Operation& o, const std::string& why) {
  throw Error(ErrorCode::kInvalid, std::string(collective_name(o.collective)) + ": " + why);
}

void check_buffer(const Operation& o, const std::byte* buffer, std::size_t needed,
                  const char* what) {
  if (needed > 0 && buffer == nullptr) {
    refuse_operation(o, std::string("this rank needs a ") + what);
  }
  if (reinterpret_cast<std::uintptr_t>(buffer) % o.element_bytes() != 0) {
    refuse_operation(o, std::string(what) + " is not aligned to its " +
                            std::to_string(o.element_bytes()) + "-byte elements");
  }
}

}  // namespace

void check_buffers(const Operation& o, int rank, int ranks) {
  if (o.root < 0 || o.root >= ranks) {
    throw Error(ErrorCode::kInvalid,
                "root " + std::to_string(o.root) + ": ranks are 0 to " + std::to_string(ranks - 1));
  }
  if (o.reduces() && !reduces_by(o.dtype, o.op)) {
    refuse_operation(o, std::string(redop_name(o.op)) + " does not reduce " + dtype_name(o.dtype));
  }
  const std::size_t element = o.element_bytes();
  if (o.count > std::numeric_limits<std::size_t>::max() / element / ranks) {
    refuse_operation(o, "more elements than memory can hold");
  }
  const Extent need = o.extent(rank, ranks);
  check_buffer(o, o.source, need.source, "source");
  check_buffer(o, o.destination, need.destination, "destination");
}

void check(const Operation& o, int rank, int ranks) {
  check_buffers(o, rank, ranks);
  const std::size_t element = o.element_bytes();
  const Extent need = o.extent(rank, ranks);
  const bool overlap = need.source > 0 && need.destination > 0 &&
                       o.source < o.destination + need.destination * element &&
                       o.destination < o.source + need.source * element;
  if (overlap && !(o.runs_in_place() && o.is_in_place(rank, ranks))) {
    refuse_operation(o, "source and destination overlap, but not as in place");
  }
}

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
