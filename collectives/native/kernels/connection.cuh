// SPDX-License-Identifier: Apache-2.0
// Messages between this rank's block and the same block of a peer, and how threads process them
// together: the counterpart of transports/native/transport.h on GPUs.
#pragma once

#include "arguments.h"
#include "element.cuh"
#include "signal.cuh"

namespace railgauge::gpu {

inline constexpr int kAhead = 4;  // loads of a thread under way, where they are only copied
using Vector = uint4;

// Threads of a block that work together, in step by a named barrier.
struct Crew {
  int barrier, size, thread;
  __device__ void meet() const { meet_at(barrier, size); }
};

__device__ inline bool is_aligned(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % sizeof(Vector) == 0;
}

// Both ways of a pair of staging buffers, for this block: what the peer writes for this rank, and
// what this one writes for it. `number` counts the messages of one direction from the first launch
// on.
class KernelConnection {
 public:
  enum Kind { kGive, kShare };

  __device__ KernelConnection(const Base& base, Kind kind, const StagingBuffer& in,
                              const StagingBuffer& out)
      : slot_bytes_(base.layout.slot_bytes) {
    const Layout& layout = base.layout;
    const std::size_t at = (kind == kShare ? layout.share_at() : 0) + blockIdx.x * sizeof(Progress);
    const std::size_t slots = layout.slots_of(kind, blockIdx.x);
    own_ = reinterpret_cast<Progress*>(in.words + at);
    theirs_ = reinterpret_cast<Progress*>(out.words + at);
    in_ = in.slots + slots;
    out_ = out.slots + slots;
  }

  __device__ std::uint32_t& sent() const { return own_->sent; }
  __device__ std::uint32_t& received() const { return own_->received; }
  template <class T>
  __device__ const T* incoming(std::uint32_t number) const {
    return reinterpret_cast<const T*>(in_ + number % kSlots * std::size_t(slot_bytes_));
  }
  template <class T>
  __device__ T* outgoing(std::uint32_t number) const {
    return reinterpret_cast<T*>(out_ + number % kSlots * std::size_t(slot_bytes_));
  }
  __device__ bool await_room(std::uint32_t number, int peer, Patience& patience) const {
    return await(&own_->free, number + 1 - kSlots, peer, patience);
  }
  __device__ bool await_message(std::uint32_t number, int peer, Patience& patience) const {
    return await(&own_->there, number + 1, peer, patience);
  }
  __device__ void tell_sent(std::uint32_t number, std::size_t bytes) const {
    theirs_->bytes[number % kSlots] = static_cast<std::uint32_t>(bytes);
    store_release(&theirs_->there, number + 1);
  }
  __device__ void tell_read(std::uint32_t number) const {
    store_release(&theirs_->free, number + 1);
  }

 private:
  std::uint32_t slot_bytes_;
  Progress *own_, *theirs_;
  char *in_, *out_;
};

// Whether all threads of a crew continue; `fine` of each thread counts, and `stop` is the crew's in
// shared memory.
__device__ inline bool all_go_on(const Crew& crew, bool fine, volatile int& stop) {
  if (!fine) stop = 1;
  crew.meet();
  return !stop;
}

template <class T>
__device__ void copy(const Crew& crew, T* to, const T* from, std::size_t count) {
  std::size_t vectors = 0;
  if (is_aligned(to) && is_aligned(from)) {
    vectors = count * sizeof(T) / sizeof(Vector);
    const Vector* source = reinterpret_cast<const Vector*>(from);
    Vector* target = reinterpret_cast<Vector*>(to);
    std::size_t at = crew.thread;
    for (; at + (kAhead - 1) * crew.size < vectors; at += kAhead * crew.size) {
      Vector held[kAhead];
#pragma unroll
      for (int i = 0; i < kAhead; ++i) held[i] = __ldcs(source + at + i * crew.size);
#pragma unroll
      for (int i = 0; i < kAhead; ++i) target[at + i * crew.size] = held[i];
    }
    for (; at < vectors; at += crew.size) target[at] = __ldcs(source + at);
  }
  for (std::size_t at = vectors * (sizeof(Vector) / sizeof(T)) + crew.thread; at < count;
       at += crew.size) {
    to[at] = from[at];
  }
}

// The same data to several targets.
template <class T>
__device__ void copy_to(const Crew& crew, T* const* targets, int n_targets, const T* from,
                        std::size_t count) {
  bool aligned = is_aligned(from);
  for (int i = 0; i < n_targets; ++i) aligned = aligned && is_aligned(targets[i]);
  const std::size_t vectors = aligned ? count * sizeof(T) / sizeof(Vector) : 0;
  const Vector* source = reinterpret_cast<const Vector*>(from);
  std::size_t at = crew.thread;
  for (; at + (kAhead - 1) * crew.size < vectors; at += kAhead * crew.size) {
    Vector held[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) held[i] = __ldcs(source + at + i * crew.size);
    for (int target = 0; target < n_targets; ++target) {
      Vector* to = reinterpret_cast<Vector*>(targets[target]);
#pragma unroll
      for (int i = 0; i < kAhead; ++i) to[at + i * crew.size] = held[i];
    }
  }
  for (; at < vectors; at += crew.size) {
    const Vector held = __ldcs(source + at);
    for (int target = 0; target < n_targets; ++target) {
      reinterpret_cast<Vector*>(targets[target])[at] = held;
    }
  }
  for (std::size_t rest = vectors * (sizeof(Vector) / sizeof(T)) + crew.thread; rest < count;
       rest += crew.size) {
    for (int target = 0; target < n_targets; ++target) targets[target][rest] = from[rest];
  }
}

// Reduces a chunk of all inputs, rank by rank in this order everywhere, and writes it to every
// target.
template <class T, class Op>
__device__ void reduce_chunk(const Crew& crew, const T* const* inputs, int n_inputs,
                             T* const* targets, int n_targets, std::size_t count,
                             std::uint32_t divide_by) {
  constexpr int kElements = Pack<T, Vector>::kElements;
  constexpr int kHeld = kElements > 8 ? 1 : kElements > 4 ? 2 : 4;  // as registers allow
  bool aligned = true;
  for (int i = 0; i < n_inputs; ++i) aligned = aligned && is_aligned(inputs[i]);
  for (int i = 0; i < n_targets; ++i) aligned = aligned && is_aligned(targets[i]);
  const std::size_t vectors = aligned ? count / kElements : 0;
  std::size_t at = crew.thread;
  for (; at + (kHeld - 1) * crew.size < vectors; at += kHeld * crew.size) {
    Reduced<T, Vector> sum[kHeld];
    Pack<T, Vector> held[kHeld];
    for (int input = 0; input < n_inputs; ++input) {
      const Vector* from = reinterpret_cast<const Vector*>(inputs[input]);
#pragma unroll
      for (int i = 0; i < kHeld; ++i) held[i].word = __ldcs(from + at + i * crew.size);
#pragma unroll
      for (int i = 0; i < kHeld; ++i)
        input ? sum[i].template add<Op>(held[i]) : sum[i].begin(held[i]);
    }
#pragma unroll
    for (int i = 0; i < kHeld; ++i) held[i] = sum[i].end(divide_by);
    for (int target = 0; target < n_targets; ++target) {
      Vector* to = reinterpret_cast<Vector*>(targets[target]);
#pragma unroll
      for (int i = 0; i < kHeld; ++i) to[at + i * crew.size] = held[i].word;
    }
  }
  for (; at < vectors; at += crew.size) {
    Reduced<T, Vector> sum;
    Pack<T, Vector> held;
    for (int input = 0; input < n_inputs; ++input) {
      held.word = __ldcs(reinterpret_cast<const Vector*>(inputs[input]) + at);
      input ? sum.template add<Op>(held) : sum.begin(held);
    }
    held = sum.end(divide_by);
    for (int target = 0; target < n_targets; ++target) {
      reinterpret_cast<Vector*>(targets[target])[at] = held.word;
    }
  }
  for (std::size_t rest = vectors * kElements + crew.thread; rest < count; rest += crew.size) {
    wide<T> sum{};
    for (int input = 0; input < n_inputs; ++input) {
      const wide<T> value = widen(inputs[input][rest]);
      sum = input ? Op::of(sum, value) : value;
    }
    if (divide_by) sum = divided(sum, divide_by);
    for (int target = 0; target < n_targets; ++target) targets[target][rest] = narrow<T>(sum);
  }
}

}  // namespace railgauge::gpu
