// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/choice.h"

#include <algorithm>
#include <string>
#include <utility>

#include "collectives/native/gpu/exchange.h"
#include "transports/native/error.h"

namespace railgauge::gpu {

namespace {

constexpr std::size_t kLowLatencyBytes = 256 << 10;
// Through memory of the host, where a hand-over takes several microseconds: all_reduces of these
// sizes use rings, which have the fewest hand-overs at a time.
constexpr std::size_t kRingFromOnHost = 384 << 10, kRingUpToOnHost = 4 << 20;
// For copies on symmetric memory: bytes from one rank to another. Copy engines need 20 us to start,
// and then reach 389 GB/s where kernels reach 365 (benchmarks/gpu_vs_nccl, 2 x H200).
constexpr std::size_t kCopiesFrom = 128 << 20;
// By bytes counted, not measured: with NVLS a link carries 1 + 1/n of the array in each direction,
// with parts that go to their owners and back 2 (n - 1)/n, which is more from 4 ranks on.
constexpr int kNvlsRanksFrom = 4;
constexpr std::size_t kOneStepBytes = 64 << 10;  // over a network

}  // namespace

std::optional<Round> round_of(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return Round::kAllReduce;
    case Collective::kReduce:
      return Round::kReduce;
    case Collective::kReduceScatter:
      return Round::kReduceScatter;
    case Collective::kAllGather:
      return Round::kAllGather;
    case Collective::kBroadcast:
      return Round::kBroadcast;
    default:
      return {};
  }
}

Choices::Choices(const Layout& layout, const std::vector<Via>& via,
                 const GpuRegisteredMemory& registered_memory)
    : layout_(layout), registered_memory_(registered_memory), ranks_(static_cast<int>(via.size())) {
  for (const Via one : via) {
    reached_ += one != Via::kNone;
    has_net_ |= one == Via::kNet;
    all_in_gpus_ &= one == Via::kNone || in_gpu(one);
  }
}

void Choices::choose(Collective collective, std::vector<ChoiceUpTo> choices) {
  chosen_[static_cast<int>(collective)] = std::move(choices);
}

Choice Choices::due(const Operation& operation) const {
  const std::size_t size = operation.count * operation.element_bytes();
  if (size >= kCopiesFrom && can(operation, Way::kCopies)) return {Way::kCopies};
  const std::size_t bytes = longest(operation, ranks_, false);
  const bool is_short = bytes <= std::min(kLowLatencyBytes, layout_.line_blocks * kLineBytes);
  // Reductions read their peers' memory, and reads over NVLink are slower than writes: they use
  // staging buffers.
  const bool is_long = !is_short && !fits_in_lines(operation);
  if (is_long && !operation.reduces() && can(operation, Way::kRegistered))
    return {Way::kRegistered};
  if (is_long && ranks_ >= kNvlsRanksFrom && can(operation, Way::kNvls)) return {Way::kNvls};
  for (const ChoiceUpTo& one : chosen_[static_cast<int>(operation.collective)]) {
    if (size <= one.bytes) return one.choice;
  }
  if (!round_of(operation.collective)) check_pairs(operation.collective);
  const bool direct = ranks_ <= kMostRanks;
  if (ranks_ == 1) return {Way::kPush};
  if (has_net_) {
    const bool in_ring = has_channels_ && round_of(operation.collective);
    return {in_ring && (!direct || bytes > kOneStepBytes) ? Way::kRing : Way::kPush};
  }
  if (!direct) return {round_of(operation.collective) ? Way::kRing : Way::kPush};
  if (!all_in_gpus_ && has_channels_ && operation.collective == Collective::kAllReduce &&
      bytes >= kRingFromOnHost && bytes <= kRingUpToOnHost) {
    return {Way::kRing, layout_.blocks};
  }
  if (is_short) return {Way::kLowLatency};
  return {fits_in_lines(operation) ? Way::kFullLines : Way::kPush};
}

bool Choices::can(const Operation& operation, Way way) const {
  if (way == Way::kRing || way == Way::kTree) {
    return has_channels_ && round_of(operation.collective) &&
           (way == Way::kRing || operation.collective == Collective::kAllReduce);
  }
  if (ranks_ > kMostRanks)
    return way == Way::kPush && !round_of(operation.collective) && reached_ == ranks_ - 1;
  if (way == Way::kRegistered) return registered_memory_.have(operation);
  if (way == Way::kCopies) return registered_memory_.can_copy(operation);
  if (way == Way::kNvls) return registered_memory_.can_multicast(operation);
  if (way == Way::kPush) return true;
  if (has_net_) return false;
  if (way == Way::kFullLines) return fits_in_lines(operation);
  return longest(operation, ranks_, false) <= layout_.line_blocks * kLineBytes;
}

bool Choices::fits_in_lines(const Operation& operation) const {
  return longest(operation, ranks_, true) <= layout_.full_lines * kFullLineData;
}

void Choices::check_pairs(Collective collective) const {
  if (reached_ == ranks_ - 1) return;
  throw Error(ErrorCode::kInvalid,
              std::string(collective_name(collective)) + " is not possible between " +
                  std::to_string(ranks_) +
                  " GPUs: among so many, each reaches only its neighbours in rings and trees");
}

bool Choices::in_steps(const Operation& operation, const Choice& choice) const {
  if (choice.way == Way::kRegistered || choice.way == Way::kCopies || choice.way == Way::kNvls)
    return operation.reduces();
  const bool far = has_net_ && longest(operation, ranks_, false) <= kOneStepBytes;
  return choice.way != Way::kLowLatency && !far;
}

}  // namespace railgauge::gpu
