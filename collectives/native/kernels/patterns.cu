// SPDX-License-Identifier: Apache-2.0
// Verification data, generated and checked in place: kernels for each element type and kind of
// data. They are compiled without contraction (CMakeLists.txt), so that bounds are the host's to
// the last bit.
#include "collectives/native/kernels/ptx.cuh"
#include "collectives/native/kernels/wrong.h"
#include "collectives/native/pattern_data.h"

using namespace railgauge;

namespace {

template <class Visit>
__device__ void each_element(std::size_t count, Visit visit) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    visit(i);
  }
}

template <class IsRight>
__device__ void look(std::size_t count, gpu::Wrong* result, IsRight is_right) {
  gpu::Wrong own;
  each_element(count, [&](std::size_t i) {
    if (!is_right(i) && own.count++ == 0) own.first = i;
  });
  if (own.count == 0) return;
  atomicAdd(&result->count, own.count);
  atomicMin(&result->first, own.first);
}

}  // namespace

constexpr int kThreads = gpu::crew_of(8);

#define KERNELS_OF(name, T, Data)                                                                 \
  RAILGAUGE_KERNEL(fill_##name, kThreads, const __grid_constant__ Data<T> data, int rank, T* to,  \
                   std::size_t count, std::uint64_t first) {                                      \
    each_element(count, [&](std::size_t i) { to[i] = data.input(rank, first + i); });             \
  }                                                                                               \
  RAILGAUGE_KERNEL(check_copied_##name, kThreads, const __grid_constant__ Data<T> data, int rank, \
                   const T* from, std::size_t count, std::uint64_t first, gpu::Wrong* wrong) {    \
    look(count, wrong, [&](std::size_t i) { return is_copied(data, rank, first + i, from[i]); }); \
  }                                                                                               \
  RAILGAUGE_KERNEL(check_reduced_##name, kThreads, const __grid_constant__ Data<T> data,          \
                   const T* from, std::size_t count, std::uint64_t first, gpu::Wrong* wrong) {    \
    look(count, wrong, [&](std::size_t i) { return is_reduced(data, first + i, from[i]); });      \
  }
#define KERNELS(name, T)                 \
  KERNELS_OF(exact_##name, T, ExactData) \
  KERNELS_OF(random_##name, T, RandomData)
KERNELS(half, Float16)
KERNELS(bfloat16, Bfloat16)
KERNELS(float, float)
KERNELS(double, double)
KERNELS(int8, std::int8_t)
KERNELS(uint8, std::uint8_t)
KERNELS(int32, std::int32_t)
KERNELS(uint32, std::uint32_t)
KERNELS(int64, std::int64_t)
KERNELS(uint64, std::uint64_t)
KERNELS(f8e4m3, Float8E4m3)
KERNELS(f8e5m2, Float8E5m2)
