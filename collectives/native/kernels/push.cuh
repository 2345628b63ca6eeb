// SPDX-License-Identifier: Apache-2.0
// Large messages, pushed through slots in the receiver's memory: NVLink carries writes better than
// reads. Each block has a part of every transfer and three groups of warps, which work at the same
// time: senders give inputs to the peers, reducers take them in and share the result, takers take
// results.
#pragma once

#include "arguments.h"
#include "element.cuh"
#include "signal.cuh"

namespace railgauge::gpu {

inline constexpr int kSenders = 256, kReducers = 256, kTakers = 128;  // threads
inline constexpr int kPushThreads = kSenders + kReducers + kTakers;
inline constexpr int kAhead = 4;  // loads of a thread under way, where they are only copied
using Vector = uint4;

// Threads of a block that work together, in step by a named barrier.
struct Crew {
  int barrier, size, thread;
  __device__ void meet() const {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(size) : "memory");
  }
};

__device__ inline bool is_aligned(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % sizeof(Vector) == 0;
}

// The part of a transfer that this block moves, cut into chunks.
template <class T>
class Part {
 public:
  __device__ Part(const void* data, std::size_t count, std::uint32_t chunk_bytes)
      : chunk_(chunk_bytes / sizeof(T)) {
    const std::size_t step = 128 / sizeof(T);
    const std::size_t each = ((count + gridDim.x - 1) / gridDim.x + step - 1) / step * step;
    const std::size_t begin = min(count, blockIdx.x * each);
    data_ = static_cast<T*>(const_cast<void*>(data)) + begin;
    count_ = min(count, begin + each) - begin;
  }
  __device__ std::uint32_t chunks() const { return (count_ + chunk_ - 1) / chunk_; }
  __device__ T* chunk(std::uint32_t number) const { return data_ + number * chunk_; }
  __device__ std::size_t count(std::uint32_t number) const {
    return min(chunk_, count_ - number * chunk_);
  }

 private:
  T* data_;
  std::size_t count_, chunk_;
};

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

// The connections of one kind between this rank's block and the same block of each peer.
class Connections {
 public:
  using Table = Progress (Region::*)[kMostRanks][kMostBlocks];
  __device__ Connections(const Arguments& a, Table table, std::size_t slots_at)
      : a_(a), table_(table), slots_at_(slots_at) {}

  __device__ Progress& own(int peer) const { return at(a_.rank, peer); }
  __device__ Progress& at(int rank, int peer) const {
    return (reinterpret_cast<Region*>(a_.segment[rank])->*table_)[peer][blockIdx.x];
  }
  // Where message `number` from one rank lies in the other's memory.
  template <class T>
  __device__ T* slot(int from, int to, std::uint32_t number) const {
    const std::size_t slot =
        (std::size_t(from) * kMostBlocks + blockIdx.x) * kSlots + number % kSlots;
    return reinterpret_cast<T*>(a_.segment[to] + slots_at_ + slot * kSlotBytes);
  }
  __device__ bool await_room(int peer, std::uint32_t number, Patience& patience) const {
    return await(&own(peer).free, number + 1 - kSlots, peer, patience);
  }
  __device__ bool await_message(int peer, std::uint32_t number, Patience& patience) const {
    return await(&own(peer).there, number + 1, peer, patience);
  }
  __device__ void tell_sent(int peer, std::uint32_t number) const {
    store_release(&at(peer, a_.rank).there, number + 1);
  }
  __device__ void tell_read(int peer, std::uint32_t number) const {
    store_release(&at(peer, a_.rank).free, number + 1);
  }

 private:
  const Arguments& a_;
  Table table_;
  std::size_t slots_at_;
};

// Whether all of a crew go on; `fine` of each thread counts, and `stop` is the crew's in shared
// memory.
__device__ inline bool all_go_on(const Crew& crew, bool fine, volatile int& stop) {
  if (!fine) stop = 1;
  crew.meet();
  return !stop;
}

template <class T>
__device__ void send_inputs(const Arguments& a, const Crew& crew, volatile int& stop) {
  const Exchange& e = a.exchange;
  const Connections give(a, &Region::give, give_at());
  const int mine = crew.thread;  // the peer that this thread waits for and tells, if there is one
  const bool attends = mine < a.ranks && mine != a.rank;
  const Part<T> watched(attends ? e.give[mine] : nullptr, attends ? e.give_count[mine] : 0,
                        a.chunk_bytes);
  const std::uint32_t sent = attends ? give.own(mine).sent : 0;
  std::uint32_t most = 0;
  for (int peer = 0; peer < a.ranks; ++peer) {
    if (peer != a.rank)
      most = max(most, Part<T>(e.give[peer], e.give_count[peer], a.chunk_bytes).chunks());
  }
  Patience patience(a);
  for (std::uint32_t number = 0; number < most; ++number) {
    const bool now = attends && number < watched.chunks();
    const bool fine = !now || give.await_room(mine, sent + number, patience);
    if (!all_go_on(crew, fine, stop)) return;
    for (int step = 1; step < a.ranks; ++step) {
      const int peer = (a.rank + step) % a.ranks;
      const Part<T> part(e.give[peer], e.give_count[peer], a.chunk_bytes);
      if (number >= part.chunks()) continue;
      T* to = give.slot<T>(a.rank, peer, give.own(peer).sent + number);
      copy(crew, to, part.chunk(number), part.count(number));
    }
    crew.meet();
    if (now) give.tell_sent(mine, sent + number);
  }
  crew.meet();
  if (attends) give.own(mine).sent = sent + watched.chunks();
}

// Reduces a chunk of all inputs, rank by rank in this order everywhere, and writes it to every
// target.
template <class T, class Op>
__device__ void reduce_chunk(const Arguments& a, const Crew& crew, const T* const* inputs,
                             int n_inputs, T* const* targets, int n_targets, std::size_t count) {
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
    for (int i = 0; i < kHeld; ++i) held[i] = sum[i].end(a.exchange.divide_by);
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
    held = sum.end(a.exchange.divide_by);
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
    if (a.exchange.divide_by) sum = sum / static_cast<wide<T>>(a.exchange.divide_by);
    for (int target = 0; target < n_targets; ++target) targets[target][rest] = narrow<T>(sum);
  }
}

template <class T, class Op>
__device__ void take_in_and_share(const Arguments& a, const Crew& crew, volatile int& stop) {
  const Exchange& e = a.exchange;
  const Connections give(a, &Region::give, give_at());
  const Connections share(a, &Region::share, share_at(a.ranks));
  const Part<T> own(e.own, e.reduce_count, a.chunk_bytes),
      result(e.result, e.reduce_count, a.chunk_bytes);
  const int mine = crew.thread;
  const bool attends = mine < a.ranks && mine != a.rank;
  const bool reduces = attends && e.reduce_from >> mine & 1,
             shares = attends && e.share_with >> mine & 1;
  const Part<T> landing(attends ? e.land[mine] : nullptr, attends ? e.land_count[mine] : 0,
                        a.chunk_bytes);
  const std::uint32_t incoming = reduces ? result.chunks() : landing.chunks();
  const std::uint32_t received = attends ? give.own(mine).received : 0;
  const std::uint32_t shared = shares ? share.own(mine).sent : 0;
  std::uint32_t most = result.chunks();
  for (int peer = 0; peer < a.ranks; ++peer) {
    if (peer != a.rank)
      most = max(most, Part<T>(e.land[peer], e.land_count[peer], a.chunk_bytes).chunks());
  }
  Patience patience(a);
  for (std::uint32_t number = 0; number < most; ++number) {
    const bool takes_in = attends && number < incoming,
               passes_on = shares && number < result.chunks();
    bool fine = !takes_in || give.await_message(mine, received + number, patience);
    if (passes_on) fine = fine && share.await_room(mine, shared + number, patience);
    if (!all_go_on(crew, fine, stop)) return;
    if (number < result.chunks()) {
      const T* inputs[kMostRanks];
      T* targets[kMostRanks];
      int n_inputs = 0, n_targets = 0;
      if (e.result) targets[n_targets++] = result.chunk(number);
      for (int rank = 0; rank < a.ranks; ++rank) {
        if (rank == a.rank) {
          if (e.own) inputs[n_inputs++] = own.chunk(number);
          continue;
        }
        if (e.reduce_from >> rank & 1) {
          inputs[n_inputs++] = give.slot<T>(rank, a.rank, give.own(rank).received + number);
        }
      }
      for (int step = 1; step < a.ranks; ++step) {
        const int peer = (a.rank + step) % a.ranks;
        if (e.share_with >> peer & 1) {
          targets[n_targets++] = share.slot<T>(a.rank, peer, share.own(peer).sent + number);
        }
      }
      reduce_chunk<T, Op>(a, crew, inputs, n_inputs, targets, n_targets, result.count(number));
    }
    for (int step = 1; step < a.ranks; ++step) {
      const int peer = (a.rank + step) % a.ranks;
      const Part<T> part(e.land[peer], e.land_count[peer], a.chunk_bytes);
      if (number >= part.chunks()) continue;
      const T* from = give.slot<T>(peer, a.rank, give.own(peer).received + number);
      copy(crew, part.chunk(number), from, part.count(number));
    }
    crew.meet();
    if (takes_in) give.tell_read(mine, received + number);
    if (passes_on) share.tell_sent(mine, shared + number);
  }
  crew.meet();
  if (attends) give.own(mine).received = received + incoming;
  if (shares) share.own(mine).sent = shared + result.chunks();
}

template <class T>
__device__ void take_results(const Arguments& a, const Crew& crew, volatile int& stop) {
  const Exchange& e = a.exchange;
  const Connections share(a, &Region::share, share_at(a.ranks));
  const int mine = crew.thread;
  const bool attends = mine < a.ranks && mine != a.rank;
  const Part<T> watched(attends ? e.take[mine] : nullptr, attends ? e.take_count[mine] : 0,
                        a.chunk_bytes);
  const std::uint32_t received = attends ? share.own(mine).received : 0;
  std::uint32_t most = 0;
  for (int peer = 0; peer < a.ranks; ++peer) {
    if (peer != a.rank)
      most = max(most, Part<T>(e.take[peer], e.take_count[peer], a.chunk_bytes).chunks());
  }
  Patience patience(a);
  for (std::uint32_t number = 0; number < most; ++number) {
    const bool now = attends && number < watched.chunks();
    const bool fine = !now || share.await_message(mine, received + number, patience);
    if (!all_go_on(crew, fine, stop)) return;
    for (int step = 1; step < a.ranks; ++step) {
      const int peer = (a.rank + step) % a.ranks;
      const Part<T> part(e.take[peer], e.take_count[peer], a.chunk_bytes);
      if (number >= part.chunks()) continue;
      const T* from = share.slot<T>(peer, a.rank, share.own(peer).received + number);
      copy(crew, part.chunk(number), from, part.count(number));
    }
    crew.meet();
    if (now) share.tell_read(mine, received + number);
  }
  crew.meet();
  if (attends) share.own(mine).received = received + watched.chunks();
}

template <class T, class Op>
__device__ void push(const Arguments& a) {
  __shared__ int stops[3];
  if (threadIdx.x < 3) stops[threadIdx.x] = 0;
  __syncthreads();
  int thread = threadIdx.x;
  if (thread < kSenders) return send_inputs<T>(a, {1, kSenders, thread}, stops[0]);
  thread -= kSenders;
  if (thread < kReducers) return take_in_and_share<T, Op>(a, {2, kReducers, thread}, stops[1]);
  thread -= kReducers;
  take_results<T>(a, {3, kTakers, thread}, stops[2]);
}

}  // namespace railgauge::gpu
