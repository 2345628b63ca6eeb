// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/operation.h"

namespace railgauge {

namespace {

constexpr const char* kCollectiveNames[kCollectives] = {
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
    "alltoall",   "gather",     "scatter",        "sendrecv"};
constexpr const char* kRedopNames[kRedops] = {"sum", "prod", "min", "max", "avg"};

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

// what: | sequence, 32 bits | root, 16 | dtype, 8 | operator, 4 | collective, 4 |
Subject subject_of(const Operation& operation, std::uint32_t sequence) {
  bool reduces = operation.reduces(), rooted = operation.has_root();
  std::uint64_t root = rooted ? static_cast<std::uint16_t>(operation.root) : 0;
  std::uint64_t op = reduces ? static_cast<std::uint64_t>(operation.op) : 0;
  return {std::uint64_t{sequence} << 32 | root << 16 |
              static_cast<std::uint64_t>(operation.dtype) << 8 | op << 4 |
              static_cast<std::uint64_t>(operation.collective),
          operation.count};
}

std::optional<Operation> operation_of(const Subject& subject) {
  auto collective = subject.what & 0xf, op = subject.what >> 4 & 0xf;
  auto dtype = subject.what >> 8 & 0xff, root = subject.what >> 16 & 0xffff;
  if (collective >= kCollectives || op >= kRedops || dtype >= kDtypes) return std::nullopt;
  return Operation{static_cast<Collective>(collective),
                   nullptr,
                   nullptr,
                   subject.count,
                   static_cast<Dtype>(dtype),
                   static_cast<Redop>(op),
                   static_cast<int>(root)};
}

// Both words mixed (the multiplier of splitmix64), so that neighbours differ in all bits.
std::uint32_t tag_of(const Subject& subject) {
  constexpr std::uint64_t kOdd = 0xbf58476d1ce4e5b9;
  std::uint64_t mixed = (subject.what ^ subject.count * kOdd) * kOdd;
  return static_cast<std::uint32_t>(mixed >> 32);
}

std::string describe(const Subject& subject) {
  const auto operation = operation_of(subject);
  if (!operation) return "something else";
  std::string text = collective_name(operation->collective);
  text += " #" + std::to_string(subject.what >> 32) + " of " + std::to_string(subject.count) + " " +
          dtype_name(operation->dtype);
  if (operation->reduces()) text += std::string(", ") + redop_name(operation->op);
  if (operation->has_root()) text += ", root " + std::to_string(operation->root);
  return text;
}

}  // namespace railgauge
