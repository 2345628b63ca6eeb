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

#include "ptx.cuh"

namespace railgauge::gpu {

template <class T>
struct Wide {
  using Type = T;
};
template <class T>
using wide = typename Wide<T>::Type;

template <class T>
__device__ inline wide<T> widen(T value) {
  return static_cast<wide<T>>(value);
}

template <class T>
__device__ inline T narrow(wide<T> value) {
  return T(value);
}
#ifdef __CUDACC__
template <>
struct Wide<__half> {
  using Type = float;
};
template <>
struct Wide<__nv_bfloat16> {
  using Type = float;
};
template <>
struct Wide<__nv_fp8_e4m3> {
  using Type = float;
};
template <>
struct Wide<__nv_fp8_e5m2> {
  using Type = float;
};
// What is beyond the largest number becomes that, as on the host and in NCCL.
template <>
__device__ inline __nv_fp8_e4m3 narrow<__nv_fp8_e4m3>(float value) {
  __nv_fp8_e4m3 result;
  result.__x = __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
  return result;
}
template <>
__device__ inline __nv_fp8_e5m2 narrow<__nv_fp8_e5m2>(float value) {
  __nv_fp8_e5m2 result;
  result.__x = __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E5M2);
  return result;
}
#else
template <class T>
  requires kIsReduced<T>
struct Wide<T> {
  using Type = float;
};
template <class T>
  requires kIsReduced<T>
inline float widen(T value) {
  return railgauge::widen(value);
}
template <class T>
  requires kIsReduced<T>
inline T narrow(float value) {
  return railgauge::narrow<T>(value);
}
#endif

// A sum of so many ranks' elements as their mean, toward zero where it is an integer; an integer
// may be too short for their number.
template <class W>
__device__ inline W divided(W sum, std::uint32_t ranks) {
  using Dividend = std::conditional_t<std::is_integral_v<W> && sizeof(W) < sizeof(int), int, W>;
  return static_cast<W>(static_cast<Dividend>(sum) / static_cast<Dividend>(ranks));
}

struct Sum {
  template <class W>
  __device__ static W of(W a, W b) {
    return a + b;
  }
};
struct Prod {
  template <class W>
  __device__ static W of(W a, W b) {
    return a * b;
  }
};
// Of a NaN and a number the number, as on the host.
struct Min {
  template <class W>
  __device__ static W of(W a, W b) {
    return b < a || a != a ? b : a;
  }
};
struct Max {
  template <class W>
  __device__ static W of(W a, W b) {
    return a < b || a != a ? b : a;
  }
};

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
    for (int i = 0; i < Pack<T, Word>::kElements; ++i) value[i] = widen(pack.element[i]);
  }
  template <class Op>
  __device__ void add(const Pack<T, Word>& pack) {
#pragma unroll
    for (int i = 0; i < Pack<T, Word>::kElements; ++i) {
      value[i] = Op::of(value[i], widen(pack.element[i]));
    }
  }
  __device__ Pack<T, Word> end(std::uint32_t divide_by) const {
    Pack<T, Word> pack;
#pragma unroll
    for (int i = 0; i < Pack<T, Word>::kElements; ++i) {
      pack.element[i] = narrow<T>(divide_by ? divided(value[i], divide_by) : value[i]);
    }
    return pack;
  }
};

}  // namespace railgauge::gpu
