// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/pattern.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "collectives/native/reduced_float.h"

namespace railgauge {

namespace {

// What integers the dtype holds exactly: all of 0..limit, their negatives too where it is signed,
// and all of these times `scale`, which puts something into the high half of the wide types.
struct Range {
  std::int64_t limit;
  std::int64_t scale;
  bool is_signed;
  int doublings;  // 2 to this power still fits, with a sign
};

Range range_of(Dtype dtype) {
  constexpr std::int64_t kWide = (std::int64_t{1} << 33) + 1;
  switch (dtype) {
    case Dtype::kInt8:
      return {127, 1, true, 6};
    case Dtype::kUint8:
      return {255, 1, false, 7};
    case Dtype::kBfloat16:
      return {256, 1, true, 30};
    case Dtype::kFloat16:
      return {2048, 1, true, 15};
    case Dtype::kInt64:
      return {1 << 18, kWide, true, 30};
    case Dtype::kUint64:
      return {1 << 18, kWide, false, 30};
    case Dtype::kFloat64:
      return {1 << 18, kWide, true, 30};
    case Dtype::kUint32:
      return {1 << 24, 1, false, 30};
    default:
      return {1 << 24, 1, true, 30};
  }
}

std::uint32_t mix(std::uint64_t seed, int rank, std::uint64_t index) {
  std::uint32_t x = static_cast<std::uint32_t>(index) * 0x9E3779B1u +
                    static_cast<std::uint32_t>(index >> 32) * 0x27D4EB2Fu +
                    static_cast<std::uint32_t>(rank + 1) * 0x85EBCA77u +
                    static_cast<std::uint32_t>(seed) * 0xC2B2AE3Du;
  x ^= x >> 15;
  x *= 0x2C1B3C6Du;
  x ^= x >> 13;
  return x;
}

// The rule: which integer rank `rank` contributes at `index`. Sums over all ranks stay within the
// range, whatever part of them is added first.
class Rule {
 public:
  explicit Rule(const Pattern& pattern) : pattern_(pattern), range_(range_of(pattern.dtype)) {
    std::int64_t ranks = pattern.ranks;
    doublers_ = std::min<std::int64_t>(ranks, range_.doublings);
    if (pattern.op == Redop::kMin || pattern.op == Redop::kMax) {
      span_ = range_.limit;
    } else if (range_.limit / ranks >= (pattern.op == Redop::kAvg ? ranks : 2)) {
      span_ = range_.limit / ranks;
    } else {
      // Too many ranks for each to add something that shows: at each index one adds for all.
      one_for_all_ = true;
      span_ = range_.limit;
    }
  }

  std::int64_t value(int rank, std::uint64_t index) const {
    std::uint32_t hash = mix(pattern_.seed, rank, index);
    std::int64_t sign = range_.is_signed && (hash & 1) ? -1 : 1;
    if (pattern_.op == Redop::kProd) {
      // 1 or 2, and 2 only for as many ranks as the dtype can carry.
      auto place = static_cast<std::int64_t>((rank + index) % pattern_.ranks);
      return sign * (place < doublers_ ? 1 + (hash >> 31) : 1);
    }
    if (one_for_all_ && (rank + index) % pattern_.ranks != 0) return 0;
    return sign * (1 + static_cast<std::int64_t>((std::uint64_t{hash} * span_) >> 32)) *
           range_.scale;
  }

  std::int64_t reduced(std::uint64_t index) const {
    std::int64_t result = value(0, index);
    for (int rank = 1; rank < pattern_.ranks; ++rank) {
      std::int64_t x = value(rank, index);
      switch (pattern_.op) {
        case Redop::kSum:
        case Redop::kAvg:
          result += x;
          break;
        case Redop::kProd:
          result *= x;
          break;
        case Redop::kMin:
          result = std::min(result, x);
          break;
        case Redop::kMax:
          result = std::max(result, x);
          break;
      }
    }
    return result;
  }

 private:
  Pattern pattern_;
  Range range_;
  std::int64_t span_;
  std::int64_t doublers_;
  bool one_for_all_ = false;
};

// How the expected integer, or average, is stored. An average of integers rounds toward zero.
template <class T>
struct Number {
  static T from(std::int64_t x) { return static_cast<T>(x); }
  static double value(T x) { return static_cast<double>(x); }
  static T average(std::int64_t sum, int ranks) {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(sum) / static_cast<T>(ranks);
    } else {
      return static_cast<T>(sum / ranks);
    }
  }
};
template <>
struct Number<Float16> {
  static Float16 from(std::int64_t x) { return narrow_float16(static_cast<float>(x)); }
  static double value(Float16 x) { return widen(x); }
  static Float16 average(std::int64_t sum, int ranks) {
    return narrow_float16(static_cast<float>(sum) / static_cast<float>(ranks));
  }
};
template <>
struct Number<Bfloat16> {
  static Bfloat16 from(std::int64_t x) { return narrow_bfloat16(static_cast<float>(x)); }
  static double value(Bfloat16 x) { return widen(x); }
  static Bfloat16 average(std::int64_t sum, int ranks) {
    return narrow_bfloat16(static_cast<float>(sum) / static_cast<float>(ranks));
  }
};

template <class T>
void fill(const Pattern& pattern, int rank, void* data, std::size_t count) {
  Rule rule(pattern);
  auto* out = static_cast<T*>(data);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = Number<T>::from(rule.value(rank, i));
  }
}

template <class T>
Verdict check(const Pattern& pattern, const void* data, std::size_t count) {
  Rule rule(pattern);
  auto* got = static_cast<const T*>(data);
  Verdict verdict{0, 0, 0, 0};
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t reduced = rule.reduced(i);
    T expected = pattern.op == Redop::kAvg ? Number<T>::average(reduced, pattern.ranks)
                                           : Number<T>::from(reduced);
    if (std::memcmp(&got[i], &expected, sizeof(T)) == 0) continue;
    if (verdict.wrong++ == 0) {
      verdict = {1, i, Number<T>::value(expected), Number<T>::value(got[i])};
    }
  }
  return verdict;
}

template <class Visitor>
auto visit(Dtype dtype, Visitor visitor) {
  switch (dtype) {
    case Dtype::kFloat16:
      return visitor(Float16{});
    case Dtype::kBfloat16:
      return visitor(Bfloat16{});
    case Dtype::kFloat32:
      return visitor(float{});
    case Dtype::kFloat64:
      return visitor(double{});
    case Dtype::kInt8:
      return visitor(std::int8_t{});
    case Dtype::kUint8:
      return visitor(std::uint8_t{});
    case Dtype::kInt32:
      return visitor(std::int32_t{});
    case Dtype::kUint32:
      return visitor(std::uint32_t{});
    case Dtype::kInt64:
      return visitor(std::int64_t{});
    default:
      return visitor(std::uint64_t{});
  }
}

}  // namespace

void fill_pattern(const Pattern& pattern, int rank, void* data, std::size_t count) {
  visit(pattern.dtype, [&](auto t) { fill<decltype(t)>(pattern, rank, data, count); });
}

Verdict check_pattern(const Pattern& pattern, const void* data, std::size_t count) {
  return visit(pattern.dtype, [&](auto t) { return check<decltype(t)>(pattern, data, count); });
}

}  // namespace railgauge
