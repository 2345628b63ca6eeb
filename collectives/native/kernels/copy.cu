// SPDX-License-Identifier: Apache-2.0
// Kernels that measure the path between two GPUs: copies by loads and stores, and short messages
// that are handed over and answered. They work on bytes, without an element type.
#include "signal.cuh"

using namespace railgauge::gpu;

namespace {

constexpr int kThreads = crew_of(16);
constexpr int kAtOnce = 4;  // 16-byte loads that a thread has under way

__device__ std::size_t own_place() { return std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; }

// Four bytes of data with the turn beside them: no reader sees one without the other.
__device__ std::uint64_t message(unsigned turn, unsigned word) {
  return std::uint64_t(turn * 2654435761u ^ word) << 32 | turn;
}
__device__ void give(std::uint64_t* out, unsigned words, unsigned turn) {
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) {
    store_relaxed(out + i, message(turn, i));
  }
}
// Waits for all of it, data and turn; false if the wait was ended.
__device__ bool take(const std::uint64_t* in, unsigned words, unsigned turn, Patience& patience,
                     int peer) {
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) {
    while (load_relaxed(in + i) != message(turn, i)) {
      if (!patience.goes_on(peer)) return false;
    }
    patience.came();
  }
  return true;
}

}  // namespace

// Both are aligned to 16 bytes.
RAILGAUGE_KERNEL(copy, kThreads, char* to, const char* from, std::size_t size) {
  auto* target = reinterpret_cast<uint4*>(to);
  const auto* source = reinterpret_cast<const uint4*>(from);
  const std::size_t vectors = size / sizeof(uint4), step = std::size_t(gridDim.x) * blockDim.x;
  std::size_t at = own_place();
  for (; at + (kAtOnce - 1) * step < vectors; at += kAtOnce * step) {
    uint4 held[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) held[i] = source[at + i * step];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) target[at + i * step] = held[i];
  }
  for (; at < vectors; at += step) target[at] = source[at];
  for (at = vectors * sizeof(uint4) + own_place(); at < size; at += step) to[at] = from[at];
}

// One block: messages of so many words to `out`, each answered before the next, in the turns after
// `before`; `asks` sends first. A message is overwritten when its answer is there, an answer when
// the next message is: either says that all threads of the other end have read.
RAILGAUGE_KERNEL(hand_over, kThreads, std::uint64_t* out, const std::uint64_t* in, unsigned words,
                 unsigned before, unsigned turns, int asks, int peer, Base base) {
  Patience patience(base);
  for (unsigned turn = before + 1; turn <= before + turns; ++turn) {
    if (asks) give(out, words, turn);
    const bool taken = take(in, words, turn, patience, peer);
    if (__syncthreads_or(!taken)) return;
    if (!asks) give(out, words, turn);
  }
}
