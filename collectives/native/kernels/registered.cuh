// SPDX-License-Identifier: Apache-2.0
// Collectives on registered memory: no staging buffers between the arrays, whose places the ranks
// exchange first. A rank reads its inputs in place, and writes its outputs to their destinations.
#pragma once

#include "connection.cuh"
#include "part.cuh"
#include "registered_barrier.cuh"

namespace railgauge::gpu {

inline constexpr int kRegisteredThreads = crew_of(16);

template <class T>
class Registered {
 public:
  __device__ explicit Registered(const RegisteredArguments& a) : a_(a) {}

  __device__ void run(RegisteredShared& shared) {
    const Crew crew{0, kRegisteredThreads, static_cast<int>(threadIdx.x)};
    RegisteredBarrier barrier(a_);
    if (!barrier.begin(shared)) return;
    // Copies have an own part too: one half of the blocks starts with it, so that memory and links
    // are busy at the same time.
    const int own = blockIdx.x % 2 ? 0 : a_.ranks - 1;
#pragma unroll 1
    for (int turn = 0, step = 1; turn < a_.ranks; ++turn) {
      if (turn == own)
        reduce(crew, shared.source, shared.destination);
      else
        put((a_.rank + step++) % a_.ranks, crew, shared.destination);
    }
    barrier.end();
  }

 private:
  // This block's part of an array.
  __device__ static T* part(const void* data, std::size_t count) {
    return BlockPart<T>(data, count, 0).chunk(0);
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
};

template <class T>
__device__ void registered(const RegisteredArguments& a, RegisteredShared& shared) {
  Registered<T>(a).run(shared);
}

}  // namespace railgauge::gpu
