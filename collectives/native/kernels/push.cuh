// SPDX-License-Identifier: Apache-2.0
// Large messages, pushed through slots in the receiver's memory: writes over NVLink are faster than
// reads. Each block has a part of every transfer and three groups of warps, which work at the same
// time: senders send inputs to the peers, reducers receive and reduce them and share the result,
// takers receive results, and copy the own input to its place if nothing is reduced.
#pragma once

#include "connection.cuh"
#include "part.cuh"

namespace railgauge::gpu {

inline constexpr int kSenders = crew_of(8), kReducers = crew_of(8), kTakers = crew_of(4);
inline constexpr int kPushThreads = kSenders + kReducers + kTakers;

// What the threads of a block share.
struct PushShared {
  int stops[3];         // of each group
  bool overwrites;      // whether reducers write over what senders read,
  std::uint32_t given;  // and the chunks that these have read then
};

// The connections of one kind with all peers.
class Connections {
 public:
  __device__ Connections(const Arguments& a, KernelConnection::Kind kind) : a_(a), kind_(kind) {}
  __device__ KernelConnection operator[](int peer) const {
    return {a_.base, kind_, a_.in[peer], a_.out[peer]};
  }

 private:
  const Arguments& a_;
  KernelConnection::Kind kind_;
};

// Whether the own input is only copied to its place, which involves no peer.
__device__ inline bool keeps(const Arguments& a) {
  const Exchange& e = a.exchange;
  return a.ranks > 1 && e.own && !e.reduce_from && !e.share_with;
}

// Whether the result overwrites an input that is sent to peers, as is possible in place: chunk by
// chunk, reducers write after senders have read. Ranks may differ in this.
__device__ inline bool overwrites(const Arguments& a) {
  const Exchange& e = a.exchange;
  bool gives_it = false;
#pragma unroll 1
  for (int peer = 0; peer < a.ranks; ++peer)
    gives_it |= peer != a.rank && e.give_count[peer] && e.give[peer] == e.result;
  return gives_it;
}

template <class T>
__device__ void send_inputs(const Arguments& a, const Crew& crew, PushShared& shared) {
  const Exchange& e = a.exchange;
  const Connections give(a, KernelConnection::kGive);
  const int mine = crew.thread;  // the peer that this thread waits for and signals, if there is one
  const bool attends = mine < a.ranks && mine != a.rank;
  const BlockPart<T> watched(attends ? e.give[mine] : nullptr, attends ? e.give_count[mine] : 0,
                             a.base.chunk_bytes);
  const std::uint32_t sent = attends ? give[mine].sent() : 0;
  std::uint32_t most = 0;
#pragma unroll 1
  for (int peer = 0; peer < a.ranks; ++peer) {
    if (peer != a.rank)
      most = max(most, BlockPart<T>(e.give[peer], e.give_count[peer], a.base.chunk_bytes).chunks());
  }
  Patience patience(a.base);
  for (std::uint32_t number = 0; number < most; ++number) {
    const bool now = attends && number < watched.chunks();
    const bool fine = !now || give[mine].await_room(sent + number, a.number[mine], patience);
    if (!all_go_on(crew, fine, shared.stops[0])) return;
#pragma unroll 1
    for (int step = 1; step < a.ranks; ++step) {
      const int peer = (a.rank + step) % a.ranks;
      const BlockPart<T> part(e.give[peer], e.give_count[peer], a.base.chunk_bytes);
      if (number >= part.chunks()) continue;
      T* to = give[peer].outgoing<T>(give[peer].sent() + number);
      copy(crew, to, part.chunk(number), part.count(number));
    }
    crew.meet();
    if (now) give[mine].tell_sent(sent + number, watched.count(number) * sizeof(T));
    if (mine == a.rank && shared.overwrites) store_release_here(&shared.given, number + 1);
  }
  crew.meet();
  if (attends) give[mine].sent() = sent + watched.chunks();
}

template <class T>
__device__ void take_in_and_share(const Arguments& a, const Crew& crew, PushShared& shared) {
  const Exchange& e = a.exchange;
  const Connections give(a, KernelConnection::kGive);
  const Connections share(a, KernelConnection::kShare);
  const std::size_t reduced = keeps(a) ? 0 : e.reduce_count;
  const BlockPart<T> own(e.own, reduced, a.base.chunk_bytes),
      result(e.result, reduced, a.base.chunk_bytes);
  const int mine = crew.thread;
  const bool attends = mine < a.ranks && mine != a.rank;
  const bool reduces = attends && e.reduce_from >> mine & 1,
             shares = attends && e.share_with >> mine & 1;
  const BlockPart<T> landing(attends ? e.land[mine] : nullptr, attends ? e.land_count[mine] : 0,
                             a.base.chunk_bytes);
  const std::uint32_t incoming = reduces ? result.chunks() : landing.chunks();
  const std::uint32_t received = attends ? give[mine].received() : 0;
  const std::uint32_t sent = shares ? share[mine].sent() : 0;
  // One thread ensures that senders have read what results overwrite.
  const std::uint32_t overwritten = mine == a.rank && shared.overwrites ? result.chunks() : 0;
  std::uint32_t most = result.chunks();
#pragma unroll 1
  for (int peer = 0; peer < a.ranks; ++peer) {
    if (peer != a.rank)
      most = max(most, BlockPart<T>(e.land[peer], e.land_count[peer], a.base.chunk_bytes).chunks());
  }
  Patience patience(a.base);
  for (std::uint32_t number = 0; number < most; ++number) {
    const bool takes_in = attends && number < incoming,
               passes_on = shares && number < result.chunks();
    bool fine = !takes_in || give[mine].await_message(received + number, a.number[mine], patience);
    if (passes_on) fine = fine && share[mine].await_room(sent + number, a.number[mine], patience);
    if (number < overwritten) fine = await_here(&shared.given, number + 1, patience);
    if (!all_go_on(crew, fine, shared.stops[1])) return;
    if (number < result.chunks()) {
      const T* inputs[kMostRanks];
      T* targets[kMostRanks];
      int n_inputs = 0, n_targets = 0;
      if (e.result) targets[n_targets++] = result.chunk(number);
#pragma unroll 1
      for (int rank = 0; rank < a.ranks; ++rank) {
        if (rank == a.rank) {
          if (e.own) inputs[n_inputs++] = own.chunk(number);
          continue;
        }
        if (e.reduce_from >> rank & 1) {
          inputs[n_inputs++] = give[rank].incoming<T>(give[rank].received() + number);
        }
      }
#pragma unroll 1
      for (int step = 1; step < a.ranks; ++step) {
        const int peer = (a.rank + step) % a.ranks;
        if (e.share_with >> peer & 1) {
          targets[n_targets++] = share[peer].outgoing<T>(share[peer].sent() + number);
        }
      }
      reduce_chunk(crew, inputs, n_inputs, targets, n_targets, result.count(number), e.reduction);
    }
#pragma unroll 1
    for (int step = 1; step < a.ranks; ++step) {
      const int peer = (a.rank + step) % a.ranks;
      const BlockPart<T> part(e.land[peer], e.land_count[peer], a.base.chunk_bytes);
      if (number >= part.chunks()) continue;
      const T* from = give[peer].incoming<T>(give[peer].received() + number);
      copy(crew, part.chunk(number), from, part.count(number));
    }
    crew.meet();
    if (takes_in) give[mine].tell_read(received + number);
    if (passes_on) share[mine].tell_sent(sent + number, result.count(number) * sizeof(T));
  }
  crew.meet();
  if (attends) give[mine].received() = received + incoming;
  if (shares) share[mine].sent() = sent + result.chunks();
}

template <class T>
__device__ void take_results(const Arguments& a, const Crew& crew, volatile int& stop) {
  const Exchange& e = a.exchange;
  const Connections share(a, KernelConnection::kShare);
  const int mine = crew.thread;
  const bool attends = mine < a.ranks && mine != a.rank;
  const BlockPart<T> watched(attends ? e.take[mine] : nullptr, attends ? e.take_count[mine] : 0,
                             a.base.chunk_bytes);
  const std::uint32_t received = attends ? share[mine].received() : 0;
  std::uint32_t most = 0;
#pragma unroll 1
  for (int peer = 0; peer < a.ranks; ++peer) {
    if (peer != a.rank)
      most = max(most, BlockPart<T>(e.take[peer], e.take_count[peer], a.base.chunk_bytes).chunks());
  }
  Patience patience(a.base);
  for (std::uint32_t number = 0; number < most; ++number) {
    const bool now = attends && number < watched.chunks();
    const bool fine =
        !now || share[mine].await_message(received + number, a.number[mine], patience);
    if (!all_go_on(crew, fine, stop)) return;
#pragma unroll 1
    for (int step = 1; step < a.ranks; ++step) {
      const int peer = (a.rank + step) % a.ranks;
      const BlockPart<T> part(e.take[peer], e.take_count[peer], a.base.chunk_bytes);
      if (number >= part.chunks()) continue;
      const T* from = share[peer].incoming<T>(share[peer].received() + number);
      copy(crew, part.chunk(number), from, part.count(number));
    }
    crew.meet();
    if (now) share[mine].tell_read(received + number);
  }
  crew.meet();
  if (attends) share[mine].received() = received + watched.chunks();
}

template <class T>
__device__ void keep(const Arguments& a, const Crew& crew) {
  const Exchange& e = a.exchange;
  const BlockPart<T> own(e.own, e.reduce_count, 0), result(e.result, e.reduce_count, 0);
  copy(crew, result.chunk(0), own.chunk(0), own.count(0));
}

template <class T>
__device__ void push(const Arguments& a, PushShared& shared) {
  if (threadIdx.x < 3) shared.stops[threadIdx.x] = 0;
  if (threadIdx.x == 3) shared.overwrites = overwrites(a), shared.given = 0;
  __syncthreads();
  int thread = threadIdx.x;
  if (thread < kSenders) return send_inputs<T>(a, {1, kSenders, thread}, shared);
  thread -= kSenders;
  if (thread < kReducers) return take_in_and_share<T>(a, {2, kReducers, thread}, shared);
  thread -= kReducers;
  if (keeps(a)) keep<T>(a, {3, kTakers, thread});
  take_results<T>(a, {3, kTakers, thread}, shared.stops[2]);
}

}  // namespace railgauge::gpu
