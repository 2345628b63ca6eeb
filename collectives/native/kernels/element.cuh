// SPDX-License-Identifier: Apache-2.0
// Elements and how they are reduced. Floats of less than 32 bits are reduced as float, and rounded
// once.
#pragma once

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#else
#include "collectives/native/reduced_float.h"
#endif

#include <cstdint>
#include <type_traits>

#include "arguments.h"
#include "ptx.cuh"

namespace railgauge::gpu {

#ifdef __CUDACC__
using Float16 = __half;
using Bfloat16 = __nv_bfloat16;
using Float8E4m3 = __nv_fp8_e4m3;
using Float8E5m2 = __nv_fp8_e5m2;
template <class T>
inline constexpr bool kIsSmallFloat =
    std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16> || std::is_same_v<T, Float8E4m3> ||
    std::is_same_v<T, Float8E5m2>;
#else
template <class T>
inline constexpr bool kIsSmallFloat = kIsReduced<T>;
#endif

template <int kBytes>
struct OfBytes;
template <>
struct OfBytes<1> {
  using Type = unsigned char;
};
template <>
struct OfBytes<2> {
  using Type = unsigned short;
};
template <>
struct OfBytes<4> {
  using Type = unsigned int;
};
template <>
struct OfBytes<8> {
  using Type = unsigned long long;
};
// An element as bits.
template <class T>
using Bits = typename OfBytes<sizeof(T)>::Type;

// What an element is reduced as.
template <class T>
using wide = std::conditional_t<kIsSmallFloat<T>, float, T>;

template <class T>
__device__ inline wide<T> widen(T value) {
#ifndef __CUDACC__
  if constexpr (kIsSmallFloat<T>)
    return railgauge::widen(value);
  else
#endif
    return static_cast<wide<T>>(value);
}
// What is beyond the largest number of 8 bits becomes that, as on the host and in NCCL.
template <class T>
__device__ inline T narrow(wide<T> value) {
#ifdef __CUDACC__
  if constexpr (sizeof(T) == 1 && kIsSmallFloat<T>) {
    constexpr bool is_e4m3 = std::is_same_v<T, Float8E4m3>;
    T result;
    result.__x = __nv_cvt_float_to_fp8(value, __NV_SATFINITE, is_e4m3 ? __NV_E4M3 : __NV_E5M2);
    return result;
  } else {
    return T(value);
  }
#else
  if constexpr (kIsSmallFloat<T>)
    return railgauge::narrow<T>(value);
  else
    return value;
#endif
}

// A sum of so many ranks' elements as their mean, toward zero where it is an integer; an integer
// may be too short for their number.
template <class W>
__device__ inline W divided(W sum, std::uint32_t ranks) {
  using Dividend = std::conditional_t<std::is_integral_v<W> && sizeof(W) < sizeof(int), int, W>;
  return static_cast<W>(static_cast<Dividend>(sum) / static_cast<Dividend>(ranks));
}

// How two elements become one. Divisions are long: only the kernels' code for means has them.
struct Undivided {
  static constexpr bool kDivides = false;
};
struct Sum : Undivided {
  template <class W>
  __device__ static W of(W a, W b) {
    return a + b;
  }
};
struct Mean : Sum {
  static constexpr bool kDivides = true;
};
struct Prod : Undivided {
  template <class W>
  __device__ static W of(W a, W b) {
    return a * b;
  }
};
// Of a NaN and a number the number, as on the host.
struct Min : Undivided {
  template <class W>
  __device__ static W of(W a, W b) {
    return b < a || a != a ? b : a;
  }
};
struct Max : Undivided {
  template <class W>
  __device__ static W of(W a, W b) {
    return a < b || a != a ? b : a;
  }
};

// Calls visit with the operator.
template <class Visit>
__device__ void with_op(ReduceOp reduction, Visit visit) {
  if (reduction.divide_by) return visit(Mean{});
  switch (reduction.op) {
    case Redop::kProd:
      return visit(Prod{});
    case Redop::kMin:
      return visit(Min{});
    case Redop::kMax:
      return visit(Max{});
    default:
      return visit(Sum{});
  }
}

// Some elements that are moved by one load or store.
template <class T, class Word>
struct Pack {
  static constexpr int kElements = sizeof(Word) / sizeof(T);
  union {
    Word word;
    T element[kElements];
  };
  __device__ Pack() {}
};

template <class T, class Word>
struct Reduced {
  wide<T> value[Pack<T, Word>::kElements];

  __device__ void begin(const Pack<T, Word>& pack) {
#pragma unroll
    for (int i = 0; i < Pack<T, Word>::kElements; ++i) value[i] = gpu::widen(pack.element[i]);
  }
  template <class Op>
  __device__ void add(const Pack<T, Word>& pack) {
#pragma unroll
    for (int i = 0; i < Pack<T, Word>::kElements; ++i) {
      value[i] = Op::of(value[i], gpu::widen(pack.element[i]));
    }
  }
  template <class Op>
  __device__ Pack<T, Word> end(std::uint32_t divide_by) const {
    Pack<T, Word> pack;
#pragma unroll
    for (int i = 0; i < Pack<T, Word>::kElements; ++i) {
      pack.element[i] = gpu::narrow<T>(Op::kDivides ? divided(value[i], divide_by) : value[i]);
    }
    return pack;
  }
};

}  // namespace railgauge::gpu
