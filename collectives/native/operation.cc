// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/operation.h"

namespace railgauge {

namespace {

constexpr const char* kCollectiveNames[kCollectives] = {
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
    "alltoall",   "gather",     "scatter",        "sendrecv"};
constexpr const char* kRedopNames[kRedops] = {"sum", "prod", "min", "max", "avg"};

bool has_root(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce ||
         collective == Collective::kGather || collective == Collective::kScatter;
}

}  // namespace

const char* collective_name(Collective collective) {
  return kCollectiveNames[static_cast<int>(collective)];
}

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

// what: | sequence, 32 bits | root, 16 | dtype, 8 | operator, 4 | collective, 4 |
Subject subject_of(const Operation& operation, std::uint32_t sequence) {
  bool reduces = operation.reduces(), rooted = has_root(operation.collective);
  std::uint64_t root = rooted ? static_cast<std::uint16_t>(operation.root) : 0;
  std::uint64_t op = reduces ? static_cast<std::uint64_t>(operation.op) : 0;
  return {std::uint64_t{sequence} << 32 | root << 16 |
              static_cast<std::uint64_t>(operation.dtype) << 8 | op << 4 |
              static_cast<std::uint64_t>(operation.collective),
          operation.count};
}

std::string describe(const Subject& subject) {
  auto collective = static_cast<Collective>(subject.what & 0xf);
  auto op = subject.what >> 4 & 0xf, dtype = subject.what >> 8 & 0xff;
  Operation operation{collective, nullptr, nullptr, 0, Dtype{}, Redop{}, 0};
  if (static_cast<int>(collective) >= kCollectives || op >= kRedops || dtype >= kDtypes) {
    return "something else";
  }
  std::string text = collective_name(collective);
  text += " #" + std::to_string(subject.what >> 32) + " of " + std::to_string(subject.count) + " " +
          dtype_name(static_cast<Dtype>(dtype));
  if (operation.reduces()) text += std::string(", ") + kRedopNames[op];
  if (has_root(collective)) text += ", root " + std::to_string(subject.what >> 16 & 0xffff);
  return text;
}

}  // namespace railgauge
