// SPDX-License-Identifier: Apache-2.0
// Large messages, pushed through slots in the receiver's memory: writes over NVLink are faster than
// reads. Each block has a part of every transfer, and warps for each of its roles, which work at
// the same time: of senders, which send an input to a peer, and takers, which receive a peer's
// result or what is not reduced, there are some for each peer, so that no peer waits for another;
// reducers receive and reduce the inputs and share the result, or copy the own input to its place.
#pragma once

#include "connection.cuh"
#include "part.cuh"

namespace railgauge::gpu {

inline constexpr int kMostPeers = kMostRanks - 1;
// Warps of a block, of which the peers share some for sending and some for taking, each at least
// one; reducers have the others: 8 with one peer and with 3, 6 with 7.
inline constexpr int kPushWarps = 20, kSendingWarps = 8, kTakingWarps = 4;
inline constexpr int kPushThreads =
    crew_of(kPushWarps - 2 * kMostPeers) + 2 * kMostPeers * crew_of(1);

// What the threads of a block share.
struct PushShared {
  int stops[2 * kMostPeers + 1];    // of each role's warps
  bool overwrites;                  // whether reducers write over what senders read,
  std::uint32_t given[kMostRanks];  // and the chunks that these have read then
  const void* inputs[kMostRanks];   // of the chunk that is reduced,
  void* targets[kMostRanks];        // and where the result goes
};

template <class T>
class Push {
 public:
  __device__ Push(const Arguments& a, PushShared& shared)
      : a_(a), e_(a.exchange), shared_(shared), patience_(a.base) {}

  __device__ void run() {
    const int thread = threadIdx.x;
    if (thread <= 2 * kMostPeers) shared_.stops[thread] = 0;
    if (thread < kMostRanks) shared_.given[thread] = 0;
    if (thread == 0) shared_.overwrites = overwrites();
    __syncthreads();
    const int peers = a_.ranks - 1;
    const int send_warps = max(1, kSendingWarps / max(1, peers)),
              take_warps = (kTakingWarps + peers - 1) / max(1, peers);
    const int reducers = crew_of(kPushWarps - peers * (send_warps + take_warps));
    const int senders = peers * crew_of(send_warps);
    if (thread < reducers) {
      const Crew crew{1, reducers, thread};
      return keeps() ? keep(crew) : take_in_and_share(crew, shared_.stops[0]);
    }
    const bool sends = thread < reducers + senders;
    const int of_role = thread - reducers - (sends ? 0 : senders),
              size = crew_of(sends ? send_warps : take_warps);
    const int step = 1 + of_role / size;
    if (step >= a_.ranks) return;
    const int number = sends ? step : kMostPeers + step, peer = peer_at(a_.rank, step, a_.ranks);
    const Crew crew{1 + number, size, of_role % size};
    if (sends) return send(peer, crew, shared_.stops[number]);
    if (!is_reduced(peer))
      take(KernelConnection::kGive, peer, crew, part(e_.land[peer], e_.land_count[peer]),
           shared_.stops[number]);
    take(KernelConnection::kShare, peer, crew, part(e_.take[peer], e_.take_count[peer]),
         shared_.stops[number]);
  }

 private:
  __device__ BlockPart<T> part(const void* data, std::size_t count) const {
    return {data, count, a_.base.chunk_bytes};
  }
  __device__ KernelConnection connection(KernelConnection::Kind kind, int peer) const {
    return {a_.base, kind, a_.in[peer], a_.out[peer]};
  }
  __device__ bool is_reduced(int peer) const { return e_.reduce_from >> peer & 1; }
  __device__ bool is_shared(int peer) const { return e_.share_with >> peer & 1; }

  // Whether the own input is only copied to its place, which involves no peer.
  __device__ bool keeps() const {
    return a_.ranks > 1 && e_.own && !e_.reduce_from && !e_.share_with;
  }
  __device__ void keep(const Crew& crew) const {
    const BlockPart<T> own(e_.own, e_.reduce_count, 0), result(e_.result, e_.reduce_count, 0);
    copy(crew, result.chunk(0), own.chunk(0), own.count(0));
  }

  // Whether the result overwrites an input that is sent to peers, as is possible in place: chunk by
  // chunk, reducers write after senders have read. Ranks may differ in this.
  __device__ bool overwrites() const {
    bool gives_it = false;
#pragma unroll 1
    for (int peer = 0; peer < a_.ranks; ++peer)
      gives_it |= peer != a_.rank && e_.give_count[peer] && e_.give[peer] == e_.result;
    return gives_it;
  }

  __device__ void send(int peer, const Crew& crew, volatile int& stop) {
    const KernelConnection to = connection(KernelConnection::kGive, peer);
    const BlockPart<T> given = part(e_.give[peer], e_.give_count[peer]);
    const std::uint32_t chunks = given.chunks(), sent = to.sent();
#pragma unroll 1
    for (std::uint32_t number = 0; number < chunks; ++number) {
      const bool fine = crew.thread || to.await_room(sent + number, a_.number[peer], patience_);
      if (!all_go_on(crew, fine, stop)) return;
      copy(crew, to.outgoing<T>(sent + number), given.chunk(number), given.count(number));
      crew.meet();
      if (crew.thread) continue;
      if (shared_.overwrites) store_release_here(&shared_.given[peer], number + 1);
      to.tell_sent(sent + number, given.count(number) * sizeof(T));
    }
    crew.meet();
    if (!crew.thread) to.sent() = sent + chunks;
  }

  __device__ void take(KernelConnection::Kind kind, int peer, const Crew& crew,
                       const BlockPart<T>& to, volatile int& stop) {
    const std::uint32_t chunks = to.chunks();
    if (!chunks) return;
    const KernelConnection from = connection(kind, peer);
    const std::uint32_t received = from.received();
#pragma unroll 1
    for (std::uint32_t number = 0; number < chunks; ++number) {
      const bool fine =
          crew.thread || from.await_message(received + number, a_.number[peer], patience_);
      if (!all_go_on(crew, fine, stop)) return;
      copy(crew, to.chunk(number), from.incoming<T>(received + number), to.count(number));
      crew.meet();
      if (!crew.thread) from.tell_read(received + number);
    }
    crew.meet();
    if (!crew.thread) from.received() = received + chunks;
  }

  // A thread for each rank waits for it and signals to it, and says where its data is.
  __device__ void take_in_and_share(const Crew& crew, volatile int& stop) {
    const BlockPart<T> own = part(e_.own, e_.reduce_count),
                       result = part(e_.result, e_.reduce_count);
    const std::uint32_t chunks = result.chunks();
    const int mine = crew.thread;
    const bool is_self = mine == a_.rank, attends = mine < a_.ranks && !is_self;
    const bool reduces = attends && is_reduced(mine), shares = attends && is_shared(mine);
    const bool waits_for_sender = attends && shared_.overwrites && e_.give_count[mine];
    const KernelConnection give = connection(KernelConnection::kGive, attends ? mine : 0),
                           share = connection(KernelConnection::kShare, attends ? mine : 0);
    const std::uint32_t received = reduces ? give.received() : 0, sent = shares ? share.sent() : 0;
    // The inputs are in the order of the ranks, the targets by distance from this one.
    const int n_inputs = inputs_below(a_.ranks), input = inputs_below(mine);
    const int n_targets = targets_within(a_.ranks),
              target = targets_within((mine + a_.ranks - a_.rank) % a_.ranks);
#pragma unroll 1
    for (std::uint32_t number = 0; number < chunks; ++number) {
      bool fine = true;
      if (reduces) fine = give.await_message(received + number, a_.number[mine], patience_);
      if (shares) fine = fine && share.await_room(sent + number, a_.number[mine], patience_);
      if (waits_for_sender) fine = fine && await_here(&shared_.given[mine], number + 1, patience_);
      if (is_self && e_.own) shared_.inputs[input] = own.chunk(number);
      if (is_self && e_.result) shared_.targets[target] = result.chunk(number);
      if (reduces) shared_.inputs[input] = give.incoming<T>(received + number);
      if (shares) shared_.targets[target] = share.outgoing<T>(sent + number);
      if (!all_go_on(crew, fine, stop)) return;
      reduce_chunk(crew, reinterpret_cast<const T* const*>(shared_.inputs), n_inputs,
                   reinterpret_cast<T* const*>(shared_.targets), n_targets, result.count(number),
                   e_.reduction);
      crew.meet();
      if (reduces) give.tell_read(received + number);
      if (shares) share.tell_sent(sent + number, result.count(number) * sizeof(T));
    }
    crew.meet();
    if (reduces) give.received() = received + chunks;
    if (shares) share.sent() = sent + chunks;
  }
  __device__ int inputs_below(int rank) const {
    int count = 0;
#pragma unroll 1
    for (int one = 0; one < rank && one < a_.ranks; ++one)
      count += one == a_.rank ? e_.own != nullptr : is_reduced(one);
    return count;
  }
  __device__ int targets_within(int steps) const {
    int count = 0;
#pragma unroll 1
    for (int step = 0; step < steps; ++step)
      count += step ? is_shared(peer_at(a_.rank, step, a_.ranks)) : e_.result != nullptr;
    return count;
  }

  const Arguments& a_;
  const Exchange& e_;
  PushShared& shared_;
  Patience patience_;
};

}  // namespace railgauge::gpu
