// SPDX-License-Identifier: Apache-2.0
// A Pattern of kind random.
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
#include <cstring>
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
auto value_of(T x) {
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

template <class T>
class RandomData {
  static constexpr bool kIsFloat = !std::is_integral_v<T>;
  using Bits = UnsignedOf<sizeof(T)>;

 public:
  explicit RandomData(const Pattern& pattern) : pattern_(pattern), terms_(terms()) {}

  // Whether a reduction is right within a bound; else it is exact.
  bool bounded() const {
    return kIsFloat && (pattern_.op == Redop::kSum || pattern_.op == Redop::kAvg);
  }

  void input(int rank, std::uint64_t block, T* out) const {
    Bits bits[kPatternBlock];
    if constexpr (!kIsFloat) {
      random_bits(rank, block, bits);
      if (pattern_.op == Redop::kProd) {  // odd: products do not run out of bits
        for (Bits& b : bits) b |= 1;
      }
    } else if (pattern_.op == Redop::kProd) {
      powers_of_two(rank, block, bits);
    } else {
      floats(rank, block, bits);
    }
    std::memcpy(out, bits, sizeof bits);
  }

  void reduced(std::uint64_t block, T* out) const {
    input(0, block, out);
    T other[kPatternBlock];
    for (int rank = 1; rank < pattern_.ranks; ++rank) {
      input(rank, block, other);
      for (std::size_t i = 0; i < kPatternBlock; ++i) out[i] = combined(out[i], other[i]);
    }
    if constexpr (!kIsFloat) {
      if (pattern_.op != Redop::kAvg) return;
      using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
      for (std::size_t i = 0; i < kPatternBlock; ++i) {
        out[i] = static_cast<T>(Wide{out[i]} / static_cast<Wide>(pattern_.ranks));
      }
    }
  }

  // The exact sum or average, and how far a computed one may be off.
  void reference(std::uint64_t block, double* exact, double* tolerance) const
    requires kIsFloat
  {
    double rest[kPatternBlock] = {};
    std::fill_n(exact, kPatternBlock, 0.0);
    std::fill_n(tolerance, kPatternBlock, 0.0);
    T x[kPatternBlock];
    for (int rank = 0; rank < pattern_.ranks; ++rank) {
      input(rank, block, x);
      for (std::size_t i = 0; i < kPatternBlock; ++i) {
        add_exactly(value_of(x[i]), exact[i], rest[i], tolerance[i]);
      }
    }
    bool average = pattern_.op == Redop::kAvg;
    double divisor = average ? pattern_.ranks : 1;
    double relative = std::expm1(roundings(terms_) * std::log1p(kUnit)) / divisor;
    double absolute = average ? smallest_positive<T>() / 2 : 0;
    double own = power_of_two(average ? -52 : -53);  // of the reference itself
    for (std::size_t i = 0; i < kPatternBlock; ++i) {
      exact[i] = (exact[i] + rest[i]) / divisor;
      tolerance[i] = tolerance[i] * relative + absolute + own * std::fabs(exact[i]);
    }
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

  double roundings(int terms) const { return terms - (pattern_.op == Redop::kAvg ? 0 : 1); }

  // How many ranks' numbers a sum has at an index: as many as leave the bound, of terms of one
  // size, well below one of them.
  int terms() const {
    if (!bounded()) return pattern_.ranks;
    int most = 1;
    while (most < pattern_.ranks &&
           (most + 1) * std::expm1(roundings(most + 1) * std::log1p(kUnit)) < 0.75) {
      ++most;
    }
    return most;
  }

  // sum + rest is exact up to what double's square cannot hold.
  static void add_exactly(double x, double& sum, double& rest, double& magnitude) {
    double next = sum + x;
    double part = next - sum;
    rest += (sum - (next - part)) + (x - part);
    sum = next;
    magnitude += std::fabs(x);
  }

  void random_bits(int rank, std::uint64_t block, Bits* out) const {
    std::uint32_t random[kPatternBlock];
    hash_block(pattern_.seed, rank, 0, block, random);
    for (std::size_t i = 0; i < kPatternBlock; ++i) out[i] = static_cast<Bits>(random[i]);
    if constexpr (sizeof(T) == 8) {
      hash_block(pattern_.seed, rank, 1, block, random);
      for (std::size_t i = 0; i < kPatternBlock; ++i) out[i] |= Bits{random[i]} << 32;
    }
  }

  // Any exponent that leaves room for the sum, the same for all ranks or up to 3 less; any mantissa
  // and sign, but no zeros, of which there are two, where a rank has a number.
  void floats(int rank, std::uint64_t block, Bits* out) const {
    using Format = FloatFormat<T>;
    constexpr Bits kFraction = (Bits{1} << Format::kMantissa) - 1;
    constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
    int room = std::bit_width(static_cast<unsigned>(terms_ - 1)) + 1;
    auto exponents = static_cast<std::uint32_t>(std::max(0, Format::kLargestExponent - room) + 1);
    std::uint32_t shared[kPatternBlock], own[kPatternBlock];
    hash_block(pattern_.seed, kSharedStream, 1, block, shared);
    hash_block(pattern_.seed, rank, 2, block, own);
    random_bits(rank, block, out);
    for (std::size_t i = 0; i < kPatternBlock; ++i) {
      auto less = static_cast<int>(own[i] >> 30);
      int exponent = std::max(0, static_cast<int>(scaled(shared[i], exponents)) - less);
      out[i] = static_cast<Bits>((out[i] & (kFraction | kSign)) |
                                 (static_cast<Bits>(exponent) << Format::kMantissa) |
                                 (exponent == 0 ? 1 : 0));
    }
    if (terms_ == pattern_.ranks) return;
    choose_block(pattern_.seed, pattern_.ranks, rank, terms_, block, own);
    for (std::size_t i = 0; i < kPatternBlock; ++i) out[i] = own[i] ? out[i] : 0;
  }

  // Exponents of which any sum is one of a normal number.
  void powers_of_two(int rank, std::uint64_t block, Bits* out) const {
    using Format = FloatFormat<T>;
    constexpr int kBudget = Format::kBias - 1;
    int most = std::max(1, kBudget / pattern_.ranks);
    std::uint32_t own[kPatternBlock], chosen[kPatternBlock];
    hash_block(pattern_.seed, rank, 2, block, own);
    choose_block(pattern_.seed, pattern_.ranks, rank, kBudget / most, block, chosen);
    for (std::size_t i = 0; i < kPatternBlock; ++i) {
      int power = static_cast<int>(scaled(own[i], static_cast<std::uint32_t>(2 * most + 1))) - most;
      int exponent = Format::kBias + (chosen[i] ? power : 0);
      Bits sign = static_cast<Bits>(own[i] & 1) << (8 * sizeof(T) - 1);
      out[i] = static_cast<Bits>(sign | static_cast<Bits>(exponent) << Format::kMantissa);
    }
  }

  T combined(T a, T b) const {
    switch (pattern_.op) {
      case Redop::kMin:
        return value_of(b) < value_of(a) ? b : a;
      case Redop::kMax:
        return value_of(b) > value_of(a) ? b : a;
      case Redop::kProd:
        return product(a, b);
      default:
        if constexpr (!kIsFloat) return static_cast<T>(static_cast<Bits>(a) + static_cast<Bits>(b));
        return a;  // a sum of floats is checked against reference()
    }
  }

  static T product(T a, T b) {
    if constexpr (kIsReduced<T>) {
      return narrow<T>(widen(a) * widen(b));
    } else if constexpr (kIsFloat) {
      return a * b;
    } else {
      // In 64 bits: what is shorter than int would become one and overflow.
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    }
  }

  Pattern pattern_;
  int terms_;
};

}  // namespace railgauge
