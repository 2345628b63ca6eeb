// SPDX-License-Identifier: Apache-2.0
// Collectives on registered memory: no staging buffers between the arrays, whose places the ranks
// exchange first. A rank reads its inputs in place, and writes its outputs to their destinations.
// Blocks of one number have a barrier before and after: by then every rank's kernel has started,
// and all its data has arrived.
#pragma once

#include "connection.cuh"
#include "line.cuh"
#include "part.cuh"

namespace railgauge::gpu {

inline constexpr int kRegisteredThreads = crew_of(16);

// What the threads of a block share: where the peers' arrays are, by rank.
struct RegisteredShared {
  char *source[kMostRanks], *destination[kMostRanks];
  int stop;
};

template <class T>
class Registered {
 public:
  __device__ explicit Registered(const RegisteredArguments& a)
      : a_(a), round_(a.base.memory->barrier[blockIdx.x] + 1) {}

  __device__ void run(char** source, char** destination, int& stop) {
    const Crew crew{0, kRegisteredThreads, static_cast<int>(threadIdx.x)};
    const int peer = threadIdx.x;
    const bool meets = peer < a_.ranks && peer != a_.rank;
    Patience patience(a_.base);
    if (!threadIdx.x) stop = 0;
    __syncthreads();
    if (meets && !meet(peer, patience, source[peer], destination[peer])) stop = 1;
    __syncthreads();
    if (stop) return;
    // Copies have an own part too: one half of the blocks starts with it, so that memory and links
    // are busy at the same time.
    const int own = blockIdx.x % 2 ? 0 : a_.ranks - 1;
#pragma unroll 1
    for (int turn = 0, step = 1; turn < a_.ranks; ++turn) {
      if (turn == own)
        reduce(crew, source, destination);
      else
        put((a_.rank + step++) % a_.ranks, crew, destination);
    }
    __syncthreads();
    if (meets) {
      store_release(&barrier(a_.out[peer])->done, round_);
      await(&barrier(a_.in[peer])->done, round_, peer, patience);
    }
    if (!threadIdx.x) a_.base.memory->barrier[blockIdx.x] = round_;
  }

 private:
  __device__ Barrier* barrier(char* buffer) const {
    return reinterpret_cast<Barrier*>(buffer + a_.base.layout.barriers_at()) + blockIdx.x;
  }
  // This block's part of an array.
  __device__ static T* part(const void* data, std::size_t count) {
    return BlockPart<T>(data, count, 0).chunk(0);
  }

  __device__ bool meet(int peer, Patience& patience, char*& source, char*& destination) const {
    Barrier* theirs = barrier(a_.out[peer]);
    const Barrier* own = barrier(a_.in[peer]);
    __threadfence_system();  // writes of previous kernels here are visible to the peer
    write_line(&theirs->source, a_.source.word(), round_);
    write_line(&theirs->destination, a_.destination.word(), round_);
    Word words[2];
    if (!read_line(&own->source, round_, peer, patience, words[0])) return false;
    if (!read_line(&own->destination, round_, peer, patience, words[1])) return false;
    __threadfence_system();
    const Place from = Place::of(words[0]), to = Place::of(words[1]);
    if (a_.symmetric && words[1] != a_.destination.word()) {
      store_relaxed(&a_.base.status->elsewhere, 1u + peer);
      return false;
    }
    source = a_.registrations[from.registration].begin[peer] + from.at;
    destination = a_.registrations[to.registration].begin[peer] + to.at;
    return true;
  }

  __device__ void put(int peer, const Crew& crew, char* const* destination) const {
    const std::size_t count = a_.put_count[peer];
    const BlockPart<T> from(a_.put[peer], count, 0);
    copy(crew, part(destination[peer] + a_.put_at[peer], count), from.chunk(0), from.count(0));
  }

  __device__ void reduce(const Crew& crew, char* const* source, char* const* destination) const {
    const T* inputs[kMostRanks];
    T* targets[kMostRanks];
    int n_inputs = 0, n_targets = 0;
    const std::size_t count = a_.reduce_count;
    if (a_.result) targets[n_targets++] = part(a_.result, count);
#pragma unroll 1
    for (int rank = 0; rank < a_.ranks; ++rank) {  // in this order everywhere
      if (rank == a_.rank && a_.own) inputs[n_inputs++] = part(a_.own, count);
      if (a_.reduce_from >> rank & 1)
        inputs[n_inputs++] = part(source[rank] + a_.reduce_at[rank], count);
    }
#pragma unroll 1
    for (int step = 1; step < a_.ranks; ++step) {
      const int peer = (a_.rank + step) % a_.ranks;
      if (a_.share_with >> peer & 1)
        targets[n_targets++] = part(destination[peer] + a_.share_at[peer], count);
    }
    reduce_chunk(crew, inputs, n_inputs, targets, n_targets,
                 BlockPart<T>(a_.own, count, 0).count(0), a_.reduction);
  }

  const RegisteredArguments& a_;
  const std::uint32_t round_;
};

template <class T>
__device__ void registered(const RegisteredArguments& a, RegisteredShared& shared) {
  Registered<T>(a).run(shared.source, shared.destination, shared.stop);
}

}  // namespace railgauge::gpu
