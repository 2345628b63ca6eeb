// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/pattern.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "collectives/native/reduced_float.h"

namespace railgauge {

namespace {

// The largest integer up to which every integer is exact in the dtype (for integers: fits).
std::uint64_t exact_limit(Dtype dtype) {
  switch (dtype) {
    case Dtype::kInt8:
      return 127;
    case Dtype::kUint8:
      return 255;
    case Dtype::kBfloat16:
      return 256;
    case Dtype::kFloat16:
      return 2048;
    default:
      return 1 << 24;
  }
}

// Most powers of two that may be multiplied without leaving the dtype: float16 ends below 2^16,
// int8 at 2^6; wider ones keep far from their ends.
int exact_doublings(Dtype dtype) {
  switch (dtype) {
    case Dtype::kInt8:
      return 6;
    case Dtype::kUint8:
      return 7;
    case Dtype::kFloat16:
      return 15;
    default:
      return 30;
  }
}

std::uint32_t mix(std::uint64_t seed, int rank, std::uint64_t index) {
  std::uint32_t x = static_cast<std::uint32_t>(index) * 0x9E3779B1u +
                    static_cast<std::uint32_t>(rank + 1) * 0x85EBCA77u +
                    static_cast<std::uint32_t>(seed) * 0xC2B2AE3Du;
  x ^= x >> 15;
  x *= 0x2C1B3C6Du;
  x ^= x >> 13;
  return x;
}

// The rule: which integer rank `rank` contributes at `index`.
class Rule {
 public:
  explicit Rule(const Pattern& pattern) : pattern_(pattern) {
    std::uint64_t limit = exact_limit(pattern.dtype);
    auto ranks = static_cast<std::uint64_t>(pattern.ranks);
    // In a sum every rank adds 1..span, or, with more ranks than the limit, only every `stride`-th
    // does.
    stride_ = std::max<std::uint64_t>(1, (2 * ranks + limit - 1) / limit);
    span_ = std::clamp<std::uint64_t>(
        limit / std::max<std::uint64_t>(1, (ranks + stride_ - 1) / stride_), 1, 64);
    if (pattern.op == Redop::kMin || pattern.op == Redop::kMax) {
      stride_ = 1;
      span_ = 100;
    }
    doublers_ = std::min(pattern.ranks, exact_doublings(pattern.dtype));
  }

  std::uint64_t value(int rank, std::uint64_t index) const {
    std::uint32_t hash = mix(pattern_.seed, rank, index);
    if (pattern_.op == Redop::kProd) {
      // 1 or 2, and 2 only for as many ranks as the dtype can carry.
      bool may_double = (rank + index) % pattern_.ranks < static_cast<std::uint64_t>(doublers_);
      return may_double ? 1 + (hash >> 31) : 1;
    }
    if ((rank + index) % stride_ != 0) return 0;
    return 1 + ((std::uint64_t{hash} * span_) >> 32);
  }

  std::uint64_t reduced(std::uint64_t index) const {
    std::uint64_t result = value(0, index);
    for (int rank = 1; rank < pattern_.ranks; ++rank) {
      std::uint64_t x = value(rank, index);
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
  std::uint64_t stride_, span_;
  int doublers_;
};

template <class T>
struct Number {
  using Quotient = T;
  static T from(double x) { return static_cast<T>(x); }
  static double value(T x) { return static_cast<double>(x); }
  static T average(std::uint64_t sum, int ranks) {
    return static_cast<T>(static_cast<T>(sum) / static_cast<T>(ranks));
  }
};
// Integers of 8 bits cannot hold every number of ranks.
template <class T>
T integer_average(std::uint64_t sum, int ranks) {
  return static_cast<T>(sum / static_cast<std::uint64_t>(ranks));
}
template <>
std::int8_t Number<std::int8_t>::average(std::uint64_t sum, int ranks) {
  return integer_average<std::int8_t>(sum, ranks);
}
template <>
std::uint8_t Number<std::uint8_t>::average(std::uint64_t sum, int ranks) {
  return integer_average<std::uint8_t>(sum, ranks);
}
template <>
struct Number<Float16> {
  static Float16 from(double x) { return narrow_float16(static_cast<float>(x)); }
  static double value(Float16 x) { return widen(x); }
  static Float16 average(std::uint64_t sum, int ranks) {
    return narrow_float16(static_cast<float>(sum) / static_cast<float>(ranks));
  }
};
template <>
struct Number<Bfloat16> {
  static Bfloat16 from(double x) { return narrow_bfloat16(static_cast<float>(x)); }
  static double value(Bfloat16 x) { return widen(x); }
  static Bfloat16 average(std::uint64_t sum, int ranks) {
    return narrow_bfloat16(static_cast<float>(sum) / static_cast<float>(ranks));
  }
};

template <class T>
void fill(const Pattern& pattern, int rank, void* data, std::size_t count) {
  Rule rule(pattern);
  auto* out = static_cast<T*>(data);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = Number<T>::from(static_cast<double>(rule.value(rank, i)));
  }
}

template <class T>
Verdict check(const Pattern& pattern, const void* data, std::size_t count) {
  Rule rule(pattern);
  auto* got = static_cast<const T*>(data);
  Verdict verdict{0, 0, 0, 0};
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t reduced = rule.reduced(i);
    T expected = pattern.op == Redop::kAvg ? Number<T>::average(reduced, pattern.ranks)
                                           : Number<T>::from(static_cast<double>(reduced));
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
