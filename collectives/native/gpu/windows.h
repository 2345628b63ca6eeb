// SPDX-License-Identifier: Apache-2.0
// Registered memory: arrays of the callers that every rank's GPU maps, so that kernels and the copy
// engine go from array to array. All ranks open and close windows in one order.
#pragma once

#include <optional>
#include <vector>

#include "collectives/native/gpu/peer_memory.h"
#include "collectives/native/kernels/arguments.h"
#include "collectives/native/operation.h"

namespace railgauge::gpu {

class Windows {
 public:
  // On a GPU by CUDA's number; `peers` is its way to the others', and outlives it.
  Windows(int device, PeerMemory& peers, std::vector<Via> via, int rank);
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  // Whether there can be any: all GPUs map each other's memory.
  bool allowed() const { return allowed_; }
  // What a rank needs to reach memory of this GPU. Error (kSystem): it cannot be lent, as what is
  // not from cudaMalloc.
  Lent lend(int rank, const std::byte* data) const;
  // A window of this rank's `bytes`, and what each rank lent this one for it. `symmetric`: all
  // ranks will use it alike, an array at the same place. Error (kInvalid): there are too many, or
  // none are allowed.
  int open(const std::byte* data, std::size_t bytes, bool symmetric, const std::vector<Lent>& lent);
  // After the last operation on it has ended on all ranks.
  void close(int window);

  // Whether an operation's arrays are in windows, and its kernel can run it: so it is on all ranks,
  // or on none.
  bool have(const Operation& operation) const;
  // Whether the copy engine can run it.
  bool can_copy(const Operation& operation) const;
  // Where an operation's arrays lie; nothing where one has none, or it is not in a window as a
  // whole: peers write what lies there.
  std::optional<Place> source(const Operation& operation) const;
  std::optional<Place> destination(const Operation& operation) const;
  // Of another rank's memory.
  char* begin(const Place& place, int rank) const { return opened_[place.window].at.begin[rank]; }
  // All of them, as kernels see them.
  const Window* on_gpu() const { return reinterpret_cast<const Window*>(table_.pointer()); }

 private:
  struct Opened {
    const std::byte* data = nullptr;  // null: the place is free
    std::size_t bytes = 0;
    bool symmetric = false;
    Window at{};
    std::vector<Lent> lent;
  };

  std::optional<Place> find(const std::byte* array, std::size_t bytes) const;

  const cuda::Driver& cuda_ = cuda::Driver::get();
  PeerMemory& peers_;
  const std::vector<Via> via_;
  const int rank_;
  bool allowed_;
  cuda::Memory table_;
  std::vector<Opened> opened_;
};

}  // namespace railgauge::gpu
