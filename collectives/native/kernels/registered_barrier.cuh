// SPDX-License-Identifier: Apache-2.0
// The barriers of kernels on registered memory, between blocks of one number: before, where the
// ranks say where their arrays are, and after. By then every rank's kernel has started, and all its
// data has arrived.
#pragma once

#include "line.cuh"
#include "signal.cuh"

namespace railgauge::gpu {

// What the threads of a block share: where the peers' arrays are, by rank.
struct RegisteredShared {
  char *source[kMostRanks], *destination[kMostRanks];
  int stop;
};

class RegisteredBarrier {
 public:
  __device__ explicit RegisteredBarrier(const RegisteredArguments& a)
      : a_(a), patience_(a.base), round_(a.base.memory->barrier[blockIdx.x] + 1) {}

  // False if the wait was ended.
  __device__ bool begin(RegisteredShared& shared) {
    if (!threadIdx.x) shared.stop = 0;
    __syncthreads();
    const int peer = threadIdx.x;
    if (has_peer() && !meet(peer, shared.source[peer], shared.destination[peer])) shared.stop = 1;
    __syncthreads();
    return !shared.stop;
  }
  __device__ void end() {
    __syncthreads();
    if (has_peer()) {
      const int peer = threadIdx.x;
      store_release(&barrier(a_.out[peer])->done, round_);
      await(&barrier(a_.in[peer])->done, round_, peer, patience_);
    }
    if (!threadIdx.x) a_.base.memory->barrier[blockIdx.x] = round_;
  }

 private:
  // Whether this thread is the one for a peer, of its number.
  __device__ bool has_peer() const {
    return int(threadIdx.x) < a_.ranks && int(threadIdx.x) != a_.rank;
  }
  __device__ Barrier* barrier(char* buffer) const {
    return reinterpret_cast<Barrier*>(buffer + a_.base.layout.barriers_at()) + blockIdx.x;
  }

  __device__ bool meet(int peer, char*& source, char*& destination) {
    Barrier* theirs = barrier(a_.out[peer]);
    const Barrier* own = barrier(a_.in[peer]);
    __threadfence_system();  // writes of previous kernels here are visible to the peer
    write_line(&theirs->source, a_.source.word(), round_);
    write_line(&theirs->destination, a_.destination.word(), round_);
    Word words[2];
    if (!read_line(&own->source, round_, peer, patience_, words[0])) return false;
    if (!read_line(&own->destination, round_, peer, patience_, words[1])) return false;
    __threadfence_system();
    const Place from = Place::of(words[0]), to = Place::of(words[1]);
    if ((a_.same_source && words[0] != a_.source.word()) ||
        (a_.same_destination && words[1] != a_.destination.word())) {
      store_relaxed(&a_.base.status->elsewhere, 1u + peer);
      return false;
    }
    source = a_.registrations[from.registration].begin[peer] + from.at;
    destination = a_.registrations[to.registration].begin[peer] + to.at;
    return true;
  }

  const RegisteredArguments& a_;
  Patience patience_;
  const std::uint32_t round_;
};

}  // namespace railgauge::gpu
