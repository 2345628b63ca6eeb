// SPDX-License-Identifier: Apache-2.0
// A Pattern of kind exact: integers whose every reduction is exact in the dtype, whatever part of
// the ranks comes first.
#pragma once

#include <algorithm>
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
  bool is_signed;
  int doublings;  // 2 to this power still fits, with a sign
};

inline ExactRange exact_range(Dtype dtype) {
  constexpr std::int64_t kWide = (std::int64_t{1} << 33) + 1;
  switch (dtype) {
    case Dtype::kInt8:
      return {127, 1, true, 6};
    case Dtype::kUint8:
      return {255, 1, false, 7};
    case Dtype::kFloat8E4m3:
      return {16, 1, true, 8};
    case Dtype::kFloat8E5m2:
      return {8, 1, true, 15};
    case Dtype::kBfloat16:
      return {256, 1, true, 30};
    case Dtype::kFloat16:
      return {2048, 1, true, 15};
    case Dtype::kInt64:
    case Dtype::kFloat64:
      return {1 << 18, kWide, true, 30};
    case Dtype::kUint64:
      return {1 << 18, kWide, false, 30};
    case Dtype::kUint32:
      return {1 << 24, 1, false, 30};
    default:
      return {1 << 24, 1, true, 30};
  }
}

template <class T>
class ExactData {
 public:
  explicit ExactData(const Pattern& pattern)
      : pattern_(pattern), range_(exact_range(pattern.dtype)) {
    bool adds = pattern.op == Redop::kSum || pattern.op == Redop::kAvg;
    int least = pattern.op == Redop::kAvg ? pattern.ranks : 2;
    // Too many ranks for each to add something that shows: at each index one adds for all.
    one_for_all_ = adds && range_.limit / pattern.ranks < least;
    span_ = static_cast<std::uint32_t>(adds && !one_for_all_ ? range_.limit / pattern.ranks
                                                             : range_.limit);
    scale_ = pattern.op == Redop::kProd ? 1 : range_.scale;
  }

  bool bounded() const { return false; }

  void input(int rank, std::uint64_t block, T* out) const {
    std::int32_t small[kPatternBlock];
    integers(rank, block, small);
    for (std::size_t i = 0; i < kPatternBlock; ++i) out[i] = stored(small[i]);
  }

  void reduced(std::uint64_t block, T* out) const {
    std::int32_t sum[kPatternBlock], other[kPatternBlock];
    integers(0, block, sum);
    for (int rank = 1; rank < pattern_.ranks; ++rank) {
      integers(rank, block, other);
      add(sum, other);
    }
    if (pattern_.op == Redop::kAvg) {
      for (std::size_t i = 0; i < kPatternBlock; ++i) out[i] = average(sum[i]);
    } else {
      for (std::size_t i = 0; i < kPatternBlock; ++i) out[i] = stored(sum[i]);
    }
  }

 private:
  // A rank's input before `scale`.
  void integers(int rank, std::uint64_t block, std::int32_t* out) const {
    std::uint32_t random[kPatternBlock];
    hash_block(pattern_.seed, rank, 0, block, random);
    if (pattern_.op == Redop::kProd) {
      // 1 or 2, and 2 only for as many ranks as the dtype can carry.
      std::uint32_t chosen[kPatternBlock];
      choose(rank, std::min(pattern_.ranks, range_.doublings), block, chosen);
      for (std::size_t i = 0; i < kPatternBlock; ++i) {
        out[i] = static_cast<std::int32_t>(1 + (random[i] >> 31 & chosen[i]));
      }
    } else {
      for (std::size_t i = 0; i < kPatternBlock; ++i) {
        out[i] = static_cast<std::int32_t>(1 + scaled(random[i], span_));
      }
    }
    if (range_.is_signed) {
      for (std::size_t i = 0; i < kPatternBlock; ++i) out[i] = random[i] & 1 ? -out[i] : out[i];
    }
    if (one_for_all_) {
      std::uint32_t chosen[kPatternBlock];
      choose(rank, 1, block, chosen);
      for (std::size_t i = 0; i < kPatternBlock; ++i) out[i] = chosen[i] ? out[i] : 0;
    }
  }

  void choose(int rank, int active, std::uint64_t block, std::uint32_t* out) const {
    choose_block(pattern_.seed, pattern_.ranks, rank, active, block, out);
  }

  void add(std::int32_t* to, const std::int32_t* other) const {
    auto each = [&](auto op) {
      for (std::size_t i = 0; i < kPatternBlock; ++i) to[i] = op(to[i], other[i]);
    };
    switch (pattern_.op) {
      case Redop::kSum:
      case Redop::kAvg:
        return each([](int a, int b) { return a + b; });
      case Redop::kProd:
        return each([](int a, int b) { return a * b; });
      case Redop::kMin:
        return each([](int a, int b) { return b < a ? b : a; });
      case Redop::kMax:
        return each([](int a, int b) { return b > a ? b : a; });
    }
  }

  T stored(std::int32_t small) const {
    if constexpr (kIsReduced<T>) {
      return narrow<T>(static_cast<float>(small));
    } else if constexpr (sizeof(T) == 8) {
      return static_cast<T>(small * scale_);
    } else {
      return static_cast<T>(small);
    }
  }

  // Of integers it is rounded toward zero.
  T average(std::int32_t sum) const {
    if constexpr (kIsReduced<T>) {
      return narrow<T>(static_cast<float>(sum) / static_cast<float>(pattern_.ranks));
    } else if constexpr (std::is_floating_point_v<T>) {
      return stored(sum) / static_cast<T>(pattern_.ranks);
    } else {
      return static_cast<T>(sum * scale_ / pattern_.ranks);
    }
  }

  Pattern pattern_;
  ExactRange range_;
  std::uint32_t span_;
  std::int64_t scale_;
  bool one_for_all_;
};

}  // namespace railgauge
