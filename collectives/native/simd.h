// SPDX-License-Identifier: Apache-2.0
// A register's worth of elements as they are stored, and as they are computed with, at the width of
// the instruction set that this is compiled for. Vectors are the compiler's own (GCC's and Clang's
// vector_size), so that one source works for x86 and ARM; intrinsics are used only for instructions
// that the compiler cannot express.
//
// In an anonymous namespace, as reduced_float.h is.
#pragma once

#include <cstddef>
#include <cstring>

#include "collectives/native/reduced_float.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace railgauge {
namespace {

#if defined(__AVX512BW__) && defined(__AVX512VL__)
inline constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t kVectorBytes = 32;
#else
inline constexpr std::size_t kVectorBytes = 16;
#endif

template <class T, std::size_t kBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));
};

template <class Register>
inline Register load(const void* from) {
  Register x;
  std::memcpy(&x, from, sizeof x);
  return x;
}

template <class Register>
inline void store(void* to, Register x) {
  std::memcpy(to, &x, sizeof x);
}

// The first `bytes` bytes of a register, of which there are 1 at least and less than all; a load
// sets the rest to zero.
template <class Register>
inline Register load_part(const void* from, std::size_t bytes) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  if constexpr (sizeof(Register) == 64) {
    return std::bit_cast<Register>(_mm512_maskz_loadu_epi8(~0ull >> (64 - bytes), from));
  } else if constexpr (sizeof(Register) == 32) {
    return std::bit_cast<Register>(_mm256_maskz_loadu_epi8(~0u >> (32 - bytes), from));
  }
#endif
  Register x{};
  std::memcpy(&x, from, bytes);
  return x;
}

template <class Register>
inline void store_part(void* to, Register x, std::size_t bytes) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  if constexpr (sizeof(Register) == 64) {
    return _mm512_mask_storeu_epi8(to, ~0ull >> (64 - bytes), std::bit_cast<__m512i>(x));
  } else if constexpr (sizeof(Register) == 32) {
    return _mm256_mask_storeu_epi8(to, ~0u >> (32 - bytes), std::bit_cast<__m256i>(x));
  }
#endif
  std::memcpy(to, &x, bytes);
}

// A non-temporal store; `to` is a multiple of the register's size.
template <class Register>
inline void stream(void* to, Register x) {
#if defined(__AVX512F__)
  if constexpr (sizeof(Register) == 64) {
    return _mm512_stream_si512(static_cast<__m512i*>(to), std::bit_cast<__m512i>(x));
  }
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(Register) == 32) {
    return _mm256_stream_si256(static_cast<__m256i*>(to), std::bit_cast<__m256i>(x));
  }
#endif
#if defined(__x86_64__)
  if constexpr (sizeof(Register) == 16) {
    return _mm_stream_si128(static_cast<__m128i*>(to), std::bit_cast<__m128i>(x));
  }
#endif
  store(to, x);
}

// Numbers that are computed with as they are stored.
template <class T>
struct Simd {
  using Register = typename VectorOf<T, kVectorBytes>::type;
  struct Values {
    Register part[1];
  };

  static Values widen(Register x) { return {{x}}; }
  static Register narrow(Values x) { return x.part[0]; }
};

// Reduced floats are computed with as floats, in as many vectors as there are elements in the 32
// bits of a float: the first holds the lowest element of each 32 bits, and so on. So nothing
// changes its place, and all operations are those on 32-bit lanes.
template <class T>
  requires kIsReduced<T>
struct Simd<T> {
  using Register = typename VectorOf<std::uint32_t, kVectorBytes>::type;
  static constexpr int kParts = sizeof(float) / sizeof(T);
  struct Values {
    typename FloatLike<Register>::type part[kParts];
  };

  static Values widen(Register x) {
    Values values;
    for (int p = 0; p < kParts; ++p) {
      values.part[p] = as_float(T::widen((x >> (p * kBits)) & kMask));
    }
    return values;
  }
  static Register narrow(Values values) {
    Register x{};
    for (int p = 0; p < kParts; ++p) {
      x |= T::narrow(std::bit_cast<Register>(values.part[p])) << (p * kBits);
    }
    return x;
  }

 private:
  static constexpr int kBits = 8 * sizeof(T);
  static constexpr std::uint32_t kMask = (1u << kBits) - 1;
};

// x86 and Arm convert float16 by themselves.
#if defined(__AVX512F__)
template <>
struct Simd<Float16> {
  using Register = VectorOf<std::uint16_t, 32>::type;
  struct Values {
    VectorOf<float, 64>::type part[1];
  };

  static Values widen(Register x) {
    return {{_mm512_maskz_cvtph_ps(0xffff, std::bit_cast<__m256i>(x))}};
  }
  static Register narrow(Values x) {
    return std::bit_cast<Register>(
        _mm512_maskz_cvtps_ph(0xffff, x.part[0], _MM_FROUND_TO_NEAREST_INT));
  }
};
#elif defined(__F16C__)
template <>
struct Simd<Float16> {
  using Register = VectorOf<std::uint16_t, 16>::type;
  struct Values {
    VectorOf<float, 32>::type part[1];
  };

  static Values widen(Register x) { return {{_mm256_cvtph_ps(std::bit_cast<__m128i>(x))}}; }
  static Register narrow(Values x) {
    return std::bit_cast<Register>(_mm256_cvtps_ph(x.part[0], _MM_FROUND_TO_NEAREST_INT));
  }
};
#elif defined(__aarch64__)
template <>
struct Simd<Float16> {
  using Register = VectorOf<std::uint16_t, 16>::type;
  struct Values {
    VectorOf<float, 16>::type part[2];
  };

  static Values widen(Register x) {
    auto halves = std::bit_cast<float16x8_t>(x);
    return {{vcvt_f32_f16(vget_low_f16(halves)), vcvt_high_f32_f16(halves)}};
  }
  static Register narrow(Values x) {
    return std::bit_cast<Register>(vcvt_high_f16_f32(vcvt_f16_f32(x.part[0]), x.part[1]));
  }
};
#endif

}  // namespace
}  // namespace railgauge
