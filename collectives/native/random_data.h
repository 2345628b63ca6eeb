// SPDX-License-Identifier: Apache-2.0
// A DataPattern of kind random.
//
// The bound for a sum of floats: each addition rounds once, so after at most n - 1 of them, in
// whatever order, a term carries n - 1 factors 1 + d with |d| <= u, and
//     |computed - exact| <= ((1 + u)^(n-1) - 1) (|x_1| + ... + |x_n|)
// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2; to first order
// (n - 1) u). u is half a unit in the last place: 2^-24 for float. Additions of floats below 32
// bits are done in float, and rounded to the dtype once in the end or each time: both are within
// the bound if u counts both roundings. A sum that is subnormal is exact. An average has one
// rounding more, and may end in a subnormal number, which is off by half the smallest at most. The
// exact sum is taken in double with compensation (Knuth's TwoSum).
//
// At each index the ranks' numbers are of like size, so that one of them missing shows; as long as
// the bound is well below the average term, which it is for 2 ranks of f8e5m2, 3 of f8e4m3, 14 of
// bfloat16. Of more ranks only so many, others at each index, have a number there to be added; the
// rest have zeros, which no addition rounds.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "collectives/native/pattern.h"
#include "collectives/native/pattern_hash.h"
#include "collectives/native/reduced_float.h"

namespace railgauge {

template <std::size_t kBytes>
using UnsignedOf = std::conditional_t<
    kBytes == 1, std::uint8_t,
    std::conditional_t<kBytes == 2, std::uint16_t,
                       std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>>;

// How a float's bits are laid out.
template <class T>
struct FloatFormat;
template <>
struct FloatFormat<Float16> {
  static constexpr int kMantissa = 10, kBias = 15, kLargestExponent = 30;
};
template <>
struct FloatFormat<Bfloat16> {
  static constexpr int kMantissa = 7, kBias = 127, kLargestExponent = 254;
};
template <>
struct FloatFormat<Float8E4m3> {
  static constexpr int kMantissa = 3, kBias = 7, kLargestExponent = 15;
};
template <>
struct FloatFormat<Float8E5m2> {
  static constexpr int kMantissa = 2, kBias = 15, kLargestExponent = 30;
};
template <>
struct FloatFormat<float> {
  static constexpr int kMantissa = 23, kBias = 127, kLargestExponent = 254;
};
template <>
struct FloatFormat<double> {
  static constexpr int kMantissa = 52, kBias = 1023, kLargestExponent = 2046;
};

template <class T>
constexpr auto value_of(T x) {
  if constexpr (kIsReduced<T>) {
    return widen(x);
  } else {
    return x;
  }
}

constexpr double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

template <class T>
constexpr double smallest_positive() {
  if constexpr (std::is_same_v<T, double>) {
    return std::numeric_limits<double>::denorm_min();
  } else {
    return power_of_two(1 - FloatFormat<T>::kBias - FloatFormat<T>::kMantissa);
  }
}

// How far the numbers of T around x are apart.
template <class T>
double unit_in_last_place(double x) {
  if (x == 0) return smallest_positive<T>();
  return std::max(smallest_positive<T>(),
                  std::ldexp(1.0, std::ilogb(x) - FloatFormat<T>::kMantissa));
}

// One rank's bits in one block: of integers, of floats that are added or compared, and of floats
// that are multiplied.
template <class T>
struct RandomBlock {
  static constexpr bool kIsFloat = !std::is_integral_v<T>;
  using Bits = UnsignedOf<sizeof(T)>;

  std::uint32_t low, high, shared, own;  // salts
  std::uint32_t exponents;               // of sums: how many there are to choose from
  int most;                              // of products: the largest power of two
  Bits odd;                              // of products of integers: 1; they do not run out of bits
  int rank;
  Chosen chosen;

  constexpr Bits bits(std::uint32_t i) const {
    Bits bits = static_cast<Bits>(hash(low, i));
    if constexpr (sizeof(T) == 8) bits |= Bits{hash(high, i)} << 32;
    return bits;
  }

  constexpr T integer(std::uint32_t i) const {
    return std::bit_cast<T>(static_cast<Bits>(bits(i) | odd));
  }

  // Any exponent that leaves room for the sum, the same for all ranks or up to 3 less; any mantissa
  // and sign, but no zeros, of which there are two, where a rank has a number.
  constexpr T term(std::uint32_t i) const {
    using Format = FloatFormat<T>;
    constexpr Bits kFraction = (Bits{1} << Format::kMantissa) - 1;
    constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
    const auto less = static_cast<int>(hash(own, i) >> 30);
    int exponent = static_cast<int>(scaled(hash(shared, i), exponents)) - less;
    exponent = exponent < 0 ? 0 : exponent;
    auto image = static_cast<Bits>((bits(i) & (kFraction | kSign)) |
                                   (static_cast<Bits>(exponent) << Format::kMantissa) |
                                   (exponent == 0 ? 1 : 0));
    if (!chosen.everybody) image = chosen.has(rank, i) ? image : 0;
    return std::bit_cast<T>(image);
  }

  // Exponents of which any sum is one of a normal number.
  constexpr T factor(std::uint32_t i) const {
    using Format = FloatFormat<T>;
    const std::uint32_t random = hash(own, i);
    int power = static_cast<int>(scaled(random, static_cast<std::uint32_t>(2 * most + 1))) - most;
    if (!chosen.everybody) power = chosen.has(rank, i) ? power : 0;
    const Bits sign = static_cast<Bits>(random & 1) << (8 * sizeof(T) - 1);
    return std::bit_cast<T>(
        static_cast<Bits>(sign | static_cast<Bits>(Format::kBias + power) << Format::kMantissa));
  }
};

// A sum as it is taken: total + rest is exact up to what double's square cannot hold.
struct ExactSum {
  double total = 0, rest = 0, magnitude = 0;

  constexpr void add(double x) {
    const double next = total + x;
    const double part = next - total;
    rest += (total - (next - part)) + (x - part);
    total = next;
    magnitude += std::fabs(x);
  }
};

// The exact sum or average, and how far a computed one may be off.
struct ExpectedSum {
  double exact, tolerance;

  constexpr bool allows(double got) const {  // false for a NaN
    return std::fabs(got - exact) <= tolerance;
  }
};

template <class T>
class RandomData {
  static constexpr bool kIsFloat = !std::is_integral_v<T>;

 public:
  explicit RandomData(const DataPattern& pattern)
      : ranks_(pattern.ranks), op_(pattern.op), seed_(pattern.seed) {
    if constexpr (kIsFloat) {
      using Format = FloatFormat<T>;
      active_ = terms();
      const int room = std::bit_width(static_cast<unsigned>(active_ - 1)) + 1;
      exponents_ = static_cast<std::uint32_t>(std::max(0, Format::kLargestExponent - room) + 1);
      const bool average = op_ == Redop::kAvg;
      divisor_ = average ? ranks_ : 1;
      relative_ = std::expm1(roundings(active_) * std::log1p(kUnit)) / divisor_;
      absolute_ = average ? smallest_positive<T>() / 2 : 0;
      own_ = power_of_two(average ? -52 : -53);
      constexpr int kBudget = Format::kBias - 1;
      most_ = std::max(1, kBudget / ranks_);
      if (op_ == Redop::kProd) active_ = kBudget / most_;
    }
  }

  // Whether a reduction is right within a bound; else it is exact.
  constexpr bool bounded() const { return kIsFloat && (op_ == Redop::kSum || op_ == Redop::kAvg); }

  // One element.
  constexpr T input(int rank, std::uint64_t index) const {
    const RandomBlock<T> block = this->block(rank, index / kPatternBlock);
    const std::uint32_t i = index % kPatternBlock;
    if constexpr (!kIsFloat) {
      return block.integer(i);
    } else {
      return op_ == Redop::kProd ? block.factor(i) : block.term(i);
    }
  }
  constexpr T reduced(std::uint64_t index) const {
    T sum = input(0, index);
    for (int rank = 1; rank < ranks_; ++rank) sum = combined(sum, input(rank, index));
    return result(sum);
  }
  constexpr ExpectedSum reference(std::uint64_t index) const
    requires kIsFloat
  {
    ExactSum sum;
    for (int rank = 0; rank < ranks_; ++rank) sum.add(value_of(input(rank, index)));
    return reference(sum);
  }

  // The same of a whole block.
  void input_block(int rank, std::uint64_t number, T* out) const {
    const RandomBlock<T> block = this->block(rank, number);
    const auto each = [&](auto element) {
      for (std::uint32_t i = 0; i < kPatternBlock; ++i) out[i] = element(i);
    };
    if constexpr (!kIsFloat) {
      each([=](std::uint32_t i) { return block.integer(i); });
    } else if (op_ == Redop::kProd) {
      each([=](std::uint32_t i) { return block.factor(i); });
    } else {
      each([=](std::uint32_t i) { return block.term(i); });
    }
  }
  void reduced_block(std::uint64_t number, T* out) const {
    input_block(0, number, out);
    T other[kPatternBlock];
    for (int rank = 1; rank < ranks_; ++rank) {
      input_block(rank, number, other);
      for (std::size_t i = 0; i < kPatternBlock; ++i) out[i] = combined(out[i], other[i]);
    }
    for (std::size_t i = 0; i < kPatternBlock; ++i) out[i] = result(out[i]);
  }
  void reference_block(std::uint64_t number, ExpectedSum* out) const
    requires kIsFloat
  {
    ExactSum sums[kPatternBlock];
    T x[kPatternBlock];
    for (int rank = 0; rank < ranks_; ++rank) {
      input_block(rank, number, x);
      for (std::size_t i = 0; i < kPatternBlock; ++i) sums[i].add(value_of(x[i]));
    }
    for (std::size_t i = 0; i < kPatternBlock; ++i) out[i] = reference(sums[i]);
  }

 private:
  static constexpr auto unit() {
    if constexpr (kIsFloat) {
      double own = power_of_two(-FloatFormat<T>::kMantissa - 1);
      return kIsReduced<T> ? own + power_of_two(-24) * (1 + own) : own;
    } else {
      return 0.0;
    }
  }
  static constexpr double kUnit = unit();

  double roundings(int terms) const { return terms - (op_ == Redop::kAvg ? 0 : 1); }

  // How many ranks' numbers a sum has at an index: as many as leave the bound, of terms of one
  // size, well below one of them.
  int terms() const {
    if (!bounded()) return ranks_;
    int most = 1;
    while (most < ranks_ &&
           (most + 1) * std::expm1(roundings(most + 1) * std::log1p(kUnit)) < 0.75) {
      ++most;
    }
    return most;
  }

  constexpr RandomBlock<T> block(int rank, std::uint64_t number) const {
    return {salt_of(seed_, rank, 0, number),
            salt_of(seed_, rank, 1, number),
            salt_of(seed_, kSharedStream, 1, number),
            salt_of(seed_, rank, 2, number),
            exponents_,
            most_,
            op_ == Redop::kProd,
            rank,
            Chosen(seed_, number, ranks_, active_)};
  }

  constexpr T combined(T a, T b) const {
    switch (op_) {
      case Redop::kMin:
        return value_of(b) < value_of(a) ? b : a;
      case Redop::kMax:
        return value_of(b) > value_of(a) ? b : a;
      case Redop::kProd:
        return product(a, b);
      default:
        if constexpr (!kIsFloat) {
          using Bits = UnsignedOf<sizeof(T)>;
          return static_cast<T>(static_cast<Bits>(a) + static_cast<Bits>(b));
        }
        return a;  // a sum of floats is checked against reference()
    }
  }

  static constexpr T product(T a, T b) {
    if constexpr (kIsReduced<T>) {
      return narrow<T>(widen(a) * widen(b));
    } else if constexpr (kIsFloat) {
      return a * b;
    } else {
      // In 64 bits: what is shorter than int would become one and overflow.
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    }
  }

  // Of a reduction. An average of integers is rounded toward zero.
  constexpr T result(T sum) const {
    if constexpr (!kIsFloat) {
      using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
      if (op_ == Redop::kAvg) return static_cast<T>(Wide{sum} / static_cast<Wide>(ranks_));
    }
    return sum;
  }

  constexpr ExpectedSum reference(const ExactSum& sum) const {
    const double exact = (sum.total + sum.rest) / divisor_;
    return {exact, sum.magnitude * relative_ + absolute_ + own_ * std::fabs(exact)};
  }

  int ranks_;
  Redop op_;
  std::uint64_t seed_;
  int active_ = ranks_;  // ranks that have a number at an index that is more than 0 or 1
  std::uint32_t exponents_ = 0;
  int most_ = 0;
  // Of a bound, relative to the terms' magnitudes and in all; and of the reference's own rounding.
  // Made by the host: its libm is not a GPU's.
  double divisor_ = 1, relative_ = 0, absolute_ = 0, own_ = 0;
};

}  // namespace railgauge
