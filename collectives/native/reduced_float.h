// SPDX-License-Identifier: Apache-2.0
// Floats of 16 and 8 bits as storage types: float16 (IEEE 754 binary16), bfloat16, and OCP's 8-bit
// formats (OCP 8-bit Floating Point Specification 1.0), of which E4M3 has no infinity. Arithmetic
// happens in float and is rounded to nearest even.
//
// Each type has widen and narrow, which map its bits to a float's and back, both held in 32-bit
// unsigned integers: `U` is one of those, or a vector of them. They are branch-free.
//
// What is too large becomes an infinity in the 16-bit types. In the 8-bit types it becomes the
// largest number, and so does an infinity, as CUDA's conversions do with __NV_SATFINITE: NCCL's
// reductions of these types end in that conversion. A NaN stays one.
//
// All is constexpr, so that GPUs' compilers take it too.
//
// Everything is in an anonymous namespace: this header is compiled with several -m flags, and one
// build's code must not stand in for another's.
#pragma once

#include <bit>
#include <cstdint>

namespace railgauge {
namespace {

template <class U>
struct FloatLike {
  typedef float type __attribute__((vector_size(sizeof(U))));
  typedef std::int32_t signed_type __attribute__((vector_size(sizeof(U))));
};
template <>
struct FloatLike<std::uint32_t> {
  using type = float;
  using signed_type = std::int32_t;
};

template <class U>
constexpr typename FloatLike<U>::type as_float(U image) {
  return std::bit_cast<typename FloatLike<U>::type>(image);
}

// a >= b for numbers below 2^31: SSE and AVX2 compare signed integers only.
template <class U>
constexpr auto at_least(U a, std::uint32_t b) {
  return std::bit_cast<typename FloatLike<U>::signed_type>(a) > static_cast<std::int32_t>(b - 1);
}

// A format like IEEE's with an exponent biased by kBias and kMantissa bits below it. `kSpecial` is
// the first of its numbers that is none, `kNan` the quiet NaN, `kOverflow` what stands for all that
// is too large.
template <class Storage, int kBias, int kMantissa, std::uint32_t kSpecial, std::uint32_t kNan,
          std::uint32_t kOverflow>
struct ReducedFloat {
  Storage bits;

  // Subnormal numbers are made by a subtraction of normal ones: processors are slow with subnormal
  // floats.
  template <class U>
  static constexpr U widen(U x) {
    U sign = (x & kSign) << (31 - kSignBit);
    U magnitude = (x & (kSign - 1)) << kShift;
    U normal = magnitude + (kRebias << 23);
    U subnormal = std::bit_cast<U>(as_float(normal + (1u << 23)) - kSmallestNormal);
    U special = magnitude | kFloatInfinity;  // infinity and NaN keep their mantissa
    U finite = at_least(magnitude, 1u << 23) ? normal : subnormal;
    return sign | (at_least(magnitude, kSpecial << kShift) ? special : finite);
  }

  template <class U>
  static constexpr U narrow(U x) {
    U sign = (x >> (31 - kSignBit)) & kSign;
    U magnitude = x & 0x7fffffffu;
    // Subnormal results come in units of the smallest, which is what the last bit of kUnits is
    // worth.
    U subnormal =
        std::bit_cast<U>(as_float(magnitude) + kUnits) - std::bit_cast<std::uint32_t>(kUnits);
    U normal =
        (magnitude - (kRebias << 23) + ((1u << (kShift - 1)) - 1) + ((magnitude >> kShift) & 1u)) >>
        kShift;
    normal = at_least(normal, kOverflow) ? U{} + kOverflow : normal;
    U bits =
        at_least(magnitude, std::bit_cast<std::uint32_t>(kSmallestNormal)) ? normal : subnormal;
    U nan = kNan | ((magnitude >> kShift) & ((1u << kMantissa) - 1));
    bits = as_float(x) != as_float(x) ? nan : bits;
    return sign | bits;
  }

 private:
  static constexpr int kSignBit = 8 * sizeof(Storage) - 1;
  static constexpr std::uint32_t kSign = 1u << kSignBit;
  static constexpr int kShift = 23 - kMantissa;
  static constexpr std::uint32_t kFloatInfinity = 0x7f800000u;
  static constexpr float power_of_two(int exponent) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(127 + exponent) << 23);
  }
  static constexpr std::uint32_t kRebias = 127 - kBias;
  static constexpr float kSmallestNormal = power_of_two(1 - kBias);
  static constexpr float kUnits = power_of_two(23 + 1 - kBias - kMantissa);
};

using Float16 = ReducedFloat<std::uint16_t, 15, 10, 0x7c00, 0x7e00, 0x7c00>;
using Float8E4m3 = ReducedFloat<std::uint8_t, 7, 3, 0x7f, 0x7f, 0x7e>;
using Float8E5m2 = ReducedFloat<std::uint8_t, 15, 2, 0x7c, 0x7e, 0x7b>;

// The upper half of a float.
struct Bfloat16 {
  std::uint16_t bits;

  template <class U>
  static constexpr U widen(U x) {
    return x << 16;
  }

  template <class U>
  static constexpr U narrow(U x) {
    U rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
    U quiet_nan = (x >> 16) | 0x40u;
    return as_float(x) != as_float(x) ? quiet_nan : rounded;
  }
};

template <class T>
inline constexpr bool kIsReduced = requires(std::uint32_t x) { T::widen(x); };

// One element at a time.
template <class T>
constexpr float widen(T x) {
  return as_float(T::widen(std::uint32_t{x.bits}));
}
template <class T>
constexpr T narrow(float x) {
  return {static_cast<decltype(T::bits)>(T::narrow(std::bit_cast<std::uint32_t>(x)))};
}

}  // namespace
}  // namespace railgauge
