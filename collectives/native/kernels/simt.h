// SPDX-License-Identifier: Apache-2.0
// The machine of the kernels (ptx.cuh) when compiled for a CPU: threads made by whoever runs a
// kernel (tests/native/fibers.h), fewer of them, and atomic words.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "arguments.h"
#include "collectives/native/reduced_float.h"

#define __device__
#define __shared__ static thread_local  // of the block that runs: one at a time
#define __grid_constant__

// A kernel, which is known by the names of its element type and its own.
#ifndef RAILGAUGE_MODULE
#define RAILGAUGE_MODULE ""
#endif
#define RAILGAUGE_KERNEL(name, threads, ...)                                       \
  static void kernel_##name(__VA_ARGS__);                                          \
  [[maybe_unused]] static const bool name##_is_added = railgauge::gpu::add_kernel( \
      RAILGAUGE_MODULE, #name, threads, railgauge::gpu::bound(kernel_##name));     \
  static void kernel_##name(__VA_ARGS__)

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

namespace railgauge::gpu {

// A warp: one thread for each peer, and as many as a full line has. A crew is one warp.
inline constexpr int kWarp = 8;
constexpr int crew_of(int) { return kWarp; }
inline constexpr unsigned kTurns = 64;

// Barriers of a block: CUDA's, and one of each warp.
inline constexpr int kFirstOfWarps = 16, kMostBarriers = kFirstOfWarps + 8;

// A thread of a kernel, as its code sees it.
class Thread {
 public:
  unsigned index = 0, block = 0, threads = 1, blocks = 1;

  virtual ~Thread() = default;
  virtual void meet(int barrier, int threads) = 0;
  virtual bool any(int barrier, int threads,
                   bool one) = 0;  // meets, and whether one of them says so
  virtual void pass() = 0;         // the others may continue here,
  virtual void write() = 0;        // here too, before a word that others wait for is written,
  virtual void wait() = 0;         // and here they do
  virtual std::uint64_t now_ns() = 0;
  static Thread& self();  // set by whoever runs the kernels
};

// A kernel with a copy of its parameters, as a driver takes them.
using Bound = std::function<std::function<void()>(void** parameters)>;
template <class... Parameters>
Bound bound(void (*kernel)(Parameters...)) {
  return [kernel](void** parameters) {
    return [&]<std::size_t... kNumbers>(std::index_sequence<kNumbers...>) -> std::function<void()> {
      return std::bind_front(kernel, *static_cast<Parameters*>(parameters[kNumbers])...);
    }(std::index_sequence_for<Parameters...>{});
  };
}
bool add_kernel(const char* module, const char* name, int threads, Bound kernel);

// One of CUDA's variables that say which thread this is.
template <unsigned Thread::* kMember>
struct OfThread {
  struct {
    operator unsigned() const { return Thread::self().*kMember; }
  } x;
};

template <class Parameters>
void begin_kernel(const Parameters&) {}
inline void meet_at(int barrier, int threads) { Thread::self().meet(barrier, threads); }

template <class Word>
Word load_acquire(const Word* word) {
  Thread::self().pass();
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
template <class Word>
void store_release(Word* word, Word value) {
  Thread::self().write();
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
// Relaxed words are ordered after all writes before them, since there are fences beside them, which
// -fsanitize=thread does not see.
template <class Word>
Word load_relaxed(const Word* word) {
  return load_acquire(word);
}
template <class Word>
void store_relaxed(Word* word, Word value) {
  store_release(word, value);
}
inline std::uint32_t load_acquire_here(const std::uint32_t* word) { return load_acquire(word); }
inline void store_release_here(std::uint32_t* word, std::uint32_t value) {
  store_release(word, value);
}
inline Sixteen load_sixteen(const void* from) {
  const auto* words = static_cast<const std::uint64_t*>(from);
  return {load_acquire(words), load_acquire(words + 1)};
}
inline void store_sixteen(void* to, Sixteen value) {
  auto* words = static_cast<std::uint64_t*>(to);
  store_release(words, value.first);
  store_release(words + 1, value.second);
}
inline bool any_of_warp(bool one) {
  Thread& self = Thread::self();
  return self.any(kFirstOfWarps + static_cast<int>(self.index) / kWarp, kWarp, one);
}
inline void wait_a_turn() { Thread::self().wait(); }
// The last word of a line is read before the others, and written after them. A warp has one line.
inline Sixteen load_line(const char* line, int place) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(line + place * sizeof(Sixteen));
  Sixteen value{};
  if (place == kWarp - 1) value.second = load_acquire(words + 1);
  any_of_warp(false);
  if (place < kWarp - 1) value.second = load_acquire(words + 1);
  value.first = load_acquire(words);
  return value;
}
inline void store_line(char* line, int place, Sixteen value) {
  char* const to = line + place * sizeof(Sixteen);
  if (place < kWarp - 1) store_sixteen(to, value);
  any_of_warp(false);
  if (place == kWarp - 1) store_sixteen(to, value);
}
inline std::uint64_t now_ns() { return Thread::self().now_ns(); }

// The places that a multicast address stands for, one in each GPU's memory; from the driver that
// has mapped it.
std::vector<char*> places_of(const void* multicast);
template <class T>
uint4 load_sum(const T* from) {
  Thread::self().pass();
  constexpr int kElements = sizeof(uint4) / sizeof(T);
  float sums[kElements] = {};
  for (const char* place : places_of(from)) {
    for (int i = 0; i < kElements; ++i) {
      T element;
      std::memcpy(&element, place + i * sizeof(T), sizeof(T));
      if constexpr (kIsReduced<T>)
        sums[i] += railgauge::widen(element);
      else
        sums[i] += element;
    }
  }
  uint4 result;
  for (int i = 0; i < kElements; ++i) {
    T element;
    if constexpr (kIsReduced<T>)
      element = railgauge::narrow<T>(sums[i]);
    else
      element = sums[i];
    std::memcpy(reinterpret_cast<char*>(&result) + i * sizeof(T), &element, sizeof(T));
  }
  return result;
}
inline void store_to_all(void* to, uint4 value) {
  Thread::self().pass();
  for (char* place : places_of(to)) std::memcpy(place, &value, sizeof value);
}
inline void order_addresses() {}

}  // namespace railgauge::gpu

using std::max;
using std::min;

inline constexpr railgauge::gpu::OfThread<&railgauge::gpu::Thread::index> threadIdx{};
inline constexpr railgauge::gpu::OfThread<&railgauge::gpu::Thread::block> blockIdx{};
inline constexpr railgauge::gpu::OfThread<&railgauge::gpu::Thread::threads> blockDim{};
inline constexpr railgauge::gpu::OfThread<&railgauge::gpu::Thread::blocks> gridDim{};

inline void __syncthreads() { railgauge::gpu::meet_at(0, blockDim.x); }
inline int __syncthreads_or(int one) {
  return railgauge::gpu::Thread::self().any(0, static_cast<int>(blockDim.x), one);
}
inline void __threadfence() {}
inline void __threadfence_system() {}
template <class Word>
Word atomicAdd(Word* word, std::type_identity_t<Word> more) {
  return __atomic_fetch_add(word, more, __ATOMIC_ACQ_REL);
}
template <class Word>
void atomicMin(Word* word, Word value) {
  Word least = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (value < least && !__atomic_compare_exchange_n(word, &least, value, false, __ATOMIC_ACQ_REL,
                                                       __ATOMIC_RELAXED)) {
  }
}
template <class T>
T __ldcs(const T* from) {
  railgauge::gpu::Thread::self().pass();
  return *from;
}
