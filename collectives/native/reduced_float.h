// SPDX-License-Identifier: Apache-2.0
// float16 (IEEE 754 binary16) and bfloat16 as storage types: arithmetic happens in float and is
// rounded to nearest even. Branch-free, so that loops over them vectorise on any instruction set.
// Everything is in an anonymous namespace: this header is compiled with several -m flags, and one
// build's code must not stand in for another's.
#pragma once

#include <bit>
#include <cstdint>

namespace railgauge {
namespace {

struct Float16 {
  std::uint16_t bits;
};
struct Bfloat16 {
  std::uint16_t bits;
};

[[maybe_unused]] inline float widen(Bfloat16 x) {
  return std::bit_cast<float>(std::uint32_t{x.bits} << 16);
}

[[maybe_unused]] inline Bfloat16 narrow_bfloat16(float f) {
  std::uint32_t x = std::bit_cast<std::uint32_t>(f);
  std::uint32_t rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
  std::uint32_t quiet_nan = (x >> 16) | 0x40u;
  bool nan = (x & 0x7fffffffu) > 0x7f800000u;
  return {static_cast<std::uint16_t>(nan ? quiet_nan : rounded)};
}

// The 15 bits below the sign, shifted into a float's place, are the value scaled by 2^-112 (the
// difference of the biases, 127 - 15); that holds for subnormal numbers too.
[[maybe_unused]] inline float widen(Float16 x) {
  std::uint32_t sign = std::uint32_t{x.bits & 0x8000u} << 16;
  std::uint32_t magnitude = std::uint32_t{x.bits & 0x7fffu} << 13;
  std::uint32_t finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  std::uint32_t special = magnitude | 0x7f800000u;  // infinity and NaN keep their mantissa
  return std::bit_cast<float>(sign | (magnitude >= (0x7c00u << 13) ? special : finite));
}

[[maybe_unused]] inline Float16 narrow_float16(float f) {
  std::uint32_t x = std::bit_cast<std::uint32_t>(f);
  std::uint32_t sign = (x >> 16) & 0x8000u;
  std::uint32_t magnitude = x & 0x7fffffffu;
  // Below 2^-14 the result is subnormal, in units of 2^-24, which is what the last bit of 0.5f is
  // worth.
  std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  std::uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  std::uint32_t bits = magnitude < 0x38800000u ? subnormal : normal;
  bits = magnitude >= 0x477ff000u ? 0x7c00u : bits;  // 65520 and up round to infinity
  bits = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : bits;
  return {static_cast<std::uint16_t>(sign | bits)};
}

}  // namespace
}  // namespace railgauge
