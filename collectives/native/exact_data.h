// SPDX-License-Identifier: Apache-2.0
// A DataPattern of kind exact: integers whose every reduction is exact in the dtype, whatever part
// of the ranks comes first.
#pragma once

#include <type_traits>

#include "collectives/native/pattern.h"
#include "collectives/native/pattern_hash.h"
#include "collectives/native/reduced_float.h"

namespace railgauge {

// Which integers a dtype holds exactly: all of 0..limit, their negatives too where it is signed,
// and all of these times `scale`, which puts something into the high half of the wide types.
struct ExactRange {
  int limit;
  std::int64_t scale;
  int doublings;  // 2 to this power still fits, with a sign
};

constexpr ExactRange exact_range(Dtype dtype) {
  constexpr std::int64_t kWide = (std::int64_t{1} << 33) + 1;
  switch (dtype) {
    case Dtype::kInt8:
      return {127, 1, 6};
    case Dtype::kUint8:
      return {255, 1, 7};
    case Dtype::kFloat8E4m3:
      return {16, 1, 8};
    case Dtype::kFloat8E5m2:
      return {8, 1, 15};
    case Dtype::kBfloat16:
      return {256, 1, 30};
    case Dtype::kFloat16:
      return {2048, 1, 15};
    case Dtype::kInt64:
    case Dtype::kFloat64:
      return {1 << 18, kWide, 30};
    case Dtype::kUint64:
      return {1 << 18, kWide, 30};
    case Dtype::kUint32:
      return {1 << 24, 1, 30};
    default:
      return {1 << 24, 1, 30};
  }
}

// One rank's integers in one block.
template <bool kSigned>
struct ExactBlock {
  std::uint32_t salt;
  std::uint32_t span;
  std::int32_t unchosen;  // what ranks have that are not chosen
  int rank;
  Chosen chosen;

  constexpr std::int32_t at(std::uint32_t i) const {
    const std::uint32_t random = hash(salt, i);
    auto value = static_cast<std::int32_t>(1 + scaled(random, span));
    if (!chosen.everybody) value = chosen.has(rank, i) ? value : unchosen;
    const std::int32_t minus = kSigned ? -static_cast<std::int32_t>(random & 1) : 0;
    return (value ^ minus) - minus;
  }
};

template <class T>
class ExactData {
  using Block = ExactBlock<!std::is_unsigned_v<T>>;

 public:
  explicit ExactData(const DataPattern& pattern)
      : ranks_(pattern.ranks), op_(pattern.op), seed_(pattern.seed), active_(pattern.ranks) {
    const ExactRange range = exact_range(pattern.dtype);
    scale_ = range.scale;
    span_ = static_cast<std::uint32_t>(range.limit);
    const bool adds = op_ == Redop::kSum || op_ == Redop::kAvg;
    const int least = op_ == Redop::kAvg ? ranks_ : 2;
    if (op_ == Redop::kProd) {
      // 1 or 2, and 2 only for as many ranks as the dtype can carry.
      span_ = 2;
      active_ = range.doublings;
      unchosen_ = 1;
      scale_ = 1;
    } else if (adds && range.limit / ranks_ >= least) {
      span_ = static_cast<std::uint32_t>(range.limit / ranks_);
    } else if (adds) {
      // Too many ranks for each to add something that shows: at each index one adds for all.
      active_ = 1;
    }
  }

  // One element.
  constexpr T input(int rank, std::uint64_t index) const { return stored(integer(rank, index)); }
  constexpr T reduced(std::uint64_t index) const {
    std::int32_t sum = integer(0, index);
    with_op([&](auto op) {
      for (int rank = 1; rank < ranks_; ++rank) sum = op(sum, integer(rank, index));
    });
    return result(sum);
  }

  // The same of a whole block.
  void input_block(int rank, std::uint64_t number, T* out) const {
    std::int32_t small[kPatternBlock];
    integers(rank, number, small);
    for (std::size_t i = 0; i < kPatternBlock; ++i) out[i] = stored(small[i]);
  }
  void reduced_block(std::uint64_t number, T* out) const {
    std::int32_t sum[kPatternBlock], other[kPatternBlock];
    integers(0, number, sum);
    for (int rank = 1; rank < ranks_; ++rank) {
      integers(rank, number, other);
      with_op([&](auto op) {
        for (std::size_t i = 0; i < kPatternBlock; ++i) sum[i] = op(sum[i], other[i]);
      });
    }
    for (std::size_t i = 0; i < kPatternBlock; ++i) out[i] = result(sum[i]);
  }

 private:
  constexpr Block block(int rank, std::uint64_t number) const {
    return {salt_of(seed_, rank, 0, number), span_, unchosen_, rank,
            Chosen(seed_, number, ranks_, active_)};
  }

  constexpr std::int32_t integer(int rank, std::uint64_t index) const {
    return block(rank, index / kPatternBlock).at(index % kPatternBlock);
  }

  void integers(int rank, std::uint64_t number, std::int32_t* out) const {
    const Block block = this->block(rank, number);
    for (std::uint32_t i = 0; i < kPatternBlock; ++i) out[i] = block.at(i);
  }

  // Calls visit with what two integers are combined by.
  template <class Visit>
  constexpr void with_op(Visit visit) const {
    switch (op_) {
      case Redop::kSum:
      case Redop::kAvg:
        return visit([](int a, int b) { return a + b; });
      case Redop::kProd:
        return visit([](int a, int b) { return a * b; });
      case Redop::kMin:
        return visit([](int a, int b) { return b < a ? b : a; });
      case Redop::kMax:
        return visit([](int a, int b) { return b > a ? b : a; });
      case Redop::kBitAnd:
      case Redop::kBitOr:
      case Redop::kBitXor:
        return;  // patterns are of nccl-tests' operators
    }
  }

  constexpr T stored(std::int32_t small) const {
    if constexpr (kIsReduced<T>) {
      return narrow<T>(static_cast<float>(small));
    } else if constexpr (sizeof(T) == 8) {
      return static_cast<T>(small * scale_);
    } else {
      return static_cast<T>(small);
    }
  }

  // Of a reduction. An average of integers is rounded toward zero.
  constexpr T result(std::int32_t sum) const {
    if (op_ != Redop::kAvg) return stored(sum);
    if constexpr (kIsReduced<T>) {
      return narrow<T>(static_cast<float>(sum) / static_cast<float>(ranks_));
    } else if constexpr (std::is_floating_point_v<T>) {
      return stored(sum) / static_cast<T>(ranks_);
    } else {
      return static_cast<T>(sum * scale_ / ranks_);
    }
  }

  int ranks_;
  Redop op_;
  std::uint64_t seed_;
  int active_;  // ranks that have more than `unchosen_` at an index
  std::int32_t unchosen_ = 0;
  std::uint32_t span_;
  std::int64_t scale_;
};

}  // namespace railgauge
