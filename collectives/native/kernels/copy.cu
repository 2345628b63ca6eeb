// SPDX-License-Identifier: Apache-2.0
// Kernels that measure the way between two GPUs: copies by loads and stores, short messages handed
// over and answered, and data made and compared. They know bytes, no element type.
#include "compared.h"
#include "signal.cuh"

using namespace railgauge::gpu;

namespace {

constexpr int kThreads = 512, kAtOnce = 4;  // 16-byte loads that a thread has under way
using Byte = unsigned char;

// Eight bytes of the data of a seed (the finalizer of SplitMix64).
__device__ std::uint64_t made(std::uint64_t seed, std::size_t word) {
  std::uint64_t x = seed + (word + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
__device__ Byte byte_of(std::uint64_t word, unsigned place) { return word >> 8 * place; }

__device__ std::size_t own_place() { return std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ std::size_t all_threads() { return std::size_t(gridDim.x) * blockDim.x; }
__device__ unsigned bytes_at(std::size_t word, std::size_t size) {
  return min(std::size_t(8), size - word * 8);
}

// Four bytes of a short message with the turn beside them: nobody sees one without the other.
__device__ std::uint64_t message(unsigned turn, unsigned word) {
  return made(turn, word) << 32 | turn;
}
__device__ void give(std::uint64_t* out, unsigned words, unsigned turn) {
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) {
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(out + i), "l"(message(turn, i))
                 : "memory");
  }
}
// False where the wait was ended.
__device__ bool take(const std::uint64_t* in, unsigned words, unsigned turn, Patience& patience,
                     int peer, Compared* compared) {
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) {
    std::uint64_t got;
    while (true) {
      asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(got) : "l"(in + i) : "memory");
      if (static_cast<unsigned>(got) == turn) break;
      if (!patience.goes_on(peer)) return false;
    }
    if (got != message(turn, i)) atomicAdd(&compared->wrong, 4);
  }
  return true;
}

}  // namespace

// Both are aligned to 16 bytes.
extern "C" __global__ void __launch_bounds__(kThreads)
    copy(Byte* to, const Byte* from, std::size_t size) {
  auto* target = reinterpret_cast<uint4*>(to);
  const auto* source = reinterpret_cast<const uint4*>(from);
  const std::size_t vectors = size / sizeof(uint4), step = all_threads();
  std::size_t at = own_place();
  for (; at + (kAtOnce - 1) * step < vectors; at += kAtOnce * step) {
    uint4 held[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) held[i] = source[at + i * step];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) target[at + i * step] = held[i];
  }
  for (; at < vectors; at += step) target[at] = source[at];
  const std::size_t rest = vectors * sizeof(uint4) + own_place();
  if (rest < size) to[rest] = from[rest];
}

// One block: messages of so many words to `out`, each answered before the next, in the turns after
// `before`; `asks` sends first. A message is overwritten when its answer is there, an answer when
// the next message is: both say that all threads of the other end have read.
extern "C" __global__ void __launch_bounds__(kThreads)
    hand_over(std::uint64_t* out, const std::uint64_t* in, unsigned words, unsigned before,
              unsigned turns, int asks, int peer, Status* status, std::uint64_t timeout_ns,
              Compared* compared) {
  Patience patience(status, timeout_ns);
  for (unsigned turn = before + 1; turn <= before + turns; ++turn) {
    if (asks) give(out, words, turn);
    const bool taken = take(in, words, turn, patience, peer, compared);
    if (__syncthreads_or(!taken)) return;
    if (!asks) give(out, words, turn);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    make(Byte* data, std::size_t size, std::uint64_t seed) {
  for (std::size_t word = own_place(); word * 8 < size; word += all_threads()) {
    const unsigned bytes = bytes_at(word, size);
    for (unsigned i = 0; i < bytes; ++i) data[word * 8 + i] = byte_of(made(seed, word), i);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    compare(const Byte* data, std::size_t size, std::uint64_t seed, Compared* compared) {
  for (std::size_t word = own_place(); word * 8 < size; word += all_threads()) {
    const unsigned bytes = bytes_at(word, size);
    for (unsigned i = 0; i < bytes; ++i) {
      if (data[word * 8 + i] == byte_of(made(seed, word), i)) continue;
      atomicAdd(&compared->wrong, 1);
      atomicMax(&compared->first_wrong, ~static_cast<unsigned long long>(word * 8 + i));
    }
  }
}
