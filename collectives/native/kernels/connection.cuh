// SPDX-License-Identifier: Apache-2.0
// Messages between this rank's block and the same block of a peer, and how threads process them
// together: the counterpart of transports/native/transport.h on GPUs.
#pragma once

#include "arguments.h"
#include "element.cuh"
#include "peers.cuh"
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

// Some words of a thread, which lie apart by the size of its crew.
template <class T, class Word, int kHeld>
struct Held {
  Pack<T, Word> pack[kHeld];

  // Of such words.
  struct Sums {
    Reduced<T, Word> sum[kHeld];

    __device__ void begin(const Held& held) {
#pragma unroll
      for (int i = 0; i < kHeld; ++i) sum[i].begin(held.pack[i]);
    }
    template <class Op>
    __device__ void add(const Held& held) {
#pragma unroll
      for (int i = 0; i < kHeld; ++i) sum[i].template add<Op>(held.pack[i]);
    }
    template <class Op>
    __device__ Held end(std::uint32_t divide_by) const {
      Held held;
#pragma unroll
      for (int i = 0; i < kHeld; ++i) held.pack[i] = sum[i].template end<Op>(divide_by);
      return held;
    }
  };

  __device__ void load(const Crew& crew, const T* from, std::size_t at) {
#pragma unroll
    for (int i = 0; i < kHeld; ++i)
      pack[i].word = __ldcs(reinterpret_cast<const Word*>(from) + at + i * crew.size);
  }
  __device__ void store(const Crew& crew, T* const* targets, int n_targets, std::size_t at) const {
#pragma unroll 1
    for (int target = 0; target < n_targets; ++target) {
      Word* const to = reinterpret_cast<Word*>(targets[target]) + at;
#pragma unroll
      for (int i = 0; i < kHeld; ++i) to[i * crew.size] = pack[i].word;
    }
  }
};

// Calls `visit` with a Held and a place for all that a thread has of `count` elements: vectors
// where the arrays are aligned, kHeld of them at a time, then single elements.
template <class T, int kHeld, class Visit>
__device__ void each_word(const Crew& crew, bool aligned, std::size_t count, Visit visit) {
  constexpr std::size_t kElements = sizeof(Vector) / sizeof(T);
  const std::size_t vectors = aligned ? count / kElements : 0;
  std::size_t at = crew.thread;
  if constexpr (kHeld > 1) {
#pragma unroll 1
    for (; at + (kHeld - 1) * crew.size < vectors; at += kHeld * crew.size)
      visit(Held<T, Vector, kHeld>{}, at);
  }
#pragma unroll 1
  for (; at < vectors; at += crew.size) visit(Held<T, Vector, 1>{}, at);
#pragma unroll 1
  for (at = vectors * kElements + crew.thread; at < count; at += crew.size)
    visit(Held<T, Bits<T>, 1>{}, at);
}

template <class T>
__device__ bool are_aligned(T* const* arrays, int count) {
  bool aligned = true;
#pragma unroll 1
  for (int i = 0; i < count; ++i) aligned = aligned && is_aligned(arrays[i]);
  return aligned;
}

// The same data to several targets.
template <class T>
__device__ void copy_to(const Crew& crew, T* const* targets, int n_targets, const T* from,
                        std::size_t count) {
  const bool aligned = is_aligned(from) && are_aligned(targets, n_targets);
  each_word<T, kAhead>(crew, aligned, count, [&](auto held, std::size_t at) {
    held.load(crew, from, at);
    held.store(crew, targets, n_targets, at);
  });
}

template <class T>
__device__ void copy(const Crew& crew, T* to, const T* from, std::size_t count) {
  T* const targets[] = {to};
  copy_to(crew, targets, 1, from, count);
}

// What `reduce_chunk` does with one operator. A thread has its words of kInputs inputs under way at
// once, where there are as many.
template <class Op, int kInputs, class T>
__device__ void reduce_by(const Crew& crew, const T* const* inputs, int n_inputs, T* const* targets,
                          int n_targets, std::size_t count, bool aligned, std::uint32_t divide_by) {
  constexpr int kElements = sizeof(Vector) / sizeof(T);
  // As registers allow, and divisions take place.
  constexpr int kMost = Op::kDivides || kElements > 8 ? 1 : kElements > 4 || kInputs > 2 ? 2 : 4;
  each_word<T, kMost>(crew, aligned, count, [&](auto held, std::size_t at) {
    // Nothing is carried from one place to the next, which would take registers all the way.
    typename decltype(held)::Sums sums{};
#pragma unroll 1
    for (int first = 0; first < n_inputs; first += kInputs) {
      decltype(held) of[kInputs];
#pragma unroll
      for (int i = 0; i < kInputs; ++i) of[i].load(crew, inputs[min(first + i, n_inputs - 1)], at);
#pragma unroll
      for (int i = 0; i < kInputs; ++i) {
        if (first + i == 0)
          sums.begin(of[i]);
        else if (first + i < n_inputs)
          sums.template add<Op>(of[i]);
      }
    }
    sums.template end<Op>(divide_by).store(crew, targets, n_targets, at);
  });
}

// Reduces a chunk of all inputs, rank by rank in this order everywhere, and writes it to every
// target. The lists are read at every word: in shared memory, or in registers if they are short.
template <class T>
__device__ void reduce_chunk(const Crew& crew, const T* const* inputs, int n_inputs,
                             T* const* targets, int n_targets, std::size_t count,
                             ReduceOp reduction) {
  const bool aligned = are_aligned(inputs, n_inputs) && are_aligned(targets, n_targets);
  with_op(reduction, [&](auto op) {
    using Op = decltype(op);
    if (n_inputs > 2)
      reduce_by<Op, kTogether>(crew, inputs, n_inputs, targets, n_targets, count, aligned,
                               reduction.divide_by);
    else
      reduce_by<Op, 2>(crew, inputs, n_inputs, targets, n_targets, count, aligned,
                       reduction.divide_by);
  });
}

}  // namespace railgauge::gpu
