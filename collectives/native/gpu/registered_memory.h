// SPDX-License-Identifier: Apache-2.0
// Registered memory: arrays of the callers that every rank's GPU maps, so that kernels and the copy
// engine go from array to array. All ranks open and close registrations in one order.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "collectives/native/gpu/peer_memory.h"
#include "collectives/native/kernels/arguments.h"
#include "collectives/native/operation.h"
#include "transports/native/cuda/gpu.h"
#include "transports/native/cuda/multicast.h"

namespace railgauge::gpu {

class GpuRegisteredMemory {
 public:
  // On a GPU by CUDA's number; `peers` gives access to the others', and outlives it.
  GpuRegisteredMemory(int device, PeerMemory& peers, std::vector<Via> via, int rank);
  GpuRegisteredMemory(const GpuRegisteredMemory&) = delete;
  GpuRegisteredMemory& operator=(const GpuRegisteredMemory&) = delete;

  // Whether there can be any: all GPUs map each other's memory.
  bool allowed() const { return allowed_; }
  // What each rank needs to reach memory of this GPU, by rank. Error (kSystem): it cannot be
  // exported.
  std::vector<Lent> lend(const std::byte* data, std::size_t bytes);
  // In place of open(), where a rank could not lend its memory.
  void withdraw() { peers_.withdraw(); }
  // Registers this rank's `bytes`, with what each rank lent to this one for it; all ranks together.
  // `symmetric`: all ranks use the same offsets. Error (kInvalid): there are too many, or
  // registration is not possible; (kSystem), (kTimeout): as of PeerMemory::open.
  int open(const std::byte* data, std::size_t bytes, bool symmetric, const std::vector<Lent>& lent);
  // One address for symmetric memory of all ranks (cuda/multicast.h), in three steps of all ranks
  // together, each once the one before succeeded on all. Error (kSystem): the driver refuses it, or
  // it is not memory of one cuMemCreate; (kTimeout): as of PeerMemory::take. close() undoes them.
  Lent offer_multicast(int registration);
  void join_multicast(int registration, const std::vector<Lent>& offered);
  void bind_multicast(int registration);
  // After the last operation on it has ended on all ranks.
  void close(int registration);

  // Whether an operation's arrays are registered, and its kernel can run it; the same on all ranks.
  bool have(const Operation& operation) const;
  // Whether the copy engine can run it.
  bool can_copy(const Operation& operation) const;
  // Whether NVSwitches can, at multicast addresses.
  bool can_multicast(const Operation& operation) const;
  // The place of an operation's arrays; nothing without one, or if it is not completely inside a
  // registration, since peers write there.
  std::optional<Place> source(const Operation& operation) const;
  std::optional<Place> destination(const Operation& operation) const;
  // The start of another rank's memory.
  char* begin(const Place& place, int rank) const {
    return opened_[place.registration].at.begin[rank];
  }
  // The multicast address of a place.
  std::byte* multicast(const Place& place) const;
  // All of them, as kernels see them.
  const Registration* on_gpu() const {
    return reinterpret_cast<const Registration*>(table_.pointer());
  }

 private:
  struct Opened {
    const std::byte* data = nullptr;  // null: the entry is free
    std::size_t bytes = 0;
    bool symmetric = false;
    Registration at{};
    std::vector<Reached> peers;
    std::unique_ptr<cuda::MulticastMember> multicast = nullptr;
  };

  cuda::MappedPiece allocation(int registration) const;
  std::optional<Place> find(const std::byte* array, std::size_t bytes) const;

  const cuda::Driver& cuda_ = cuda::Driver::get();
  PeerMemory& peers_;
  const std::vector<Via> via_;
  const int rank_;
  bool allowed_;
  const cuda::Gpu gpu_;
  cuda::Memory table_;
  std::vector<Opened> opened_;
};

}  // namespace railgauge::gpu
