// SPDX-License-Identifier: Apache-2.0
// Registered memory: arrays of the callers that every rank's GPU maps, so that kernels and the copy
// engine go from array to array. All ranks open and close windows in one order.
#pragma once

#include <optional>
#include <vector>

#include "collectives/native/gpu/peer_memory.h"
#include "collectives/native/kernels/arguments.h"

namespace railgauge::gpu {

class Windows {
 public:
  // `peers` outlives it; `via` has kDirect and kIpc alone, but for the own rank.
  Windows(cuda::Context context, PeerMemory& peers, std::vector<Via> via, int rank);
  ~Windows();
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  // What a rank needs to reach memory of this GPU. Error (kSystem): it cannot be lent, as what is
  // not from cudaMalloc.
  Lent lend(int rank, const std::byte* data) const;
  // A window of this rank's `bytes`, and what each rank lent this one for it. `symmetric`: all
  // ranks will use it alike, an array at the same place. Error (kInvalid): there are too many.
  int open(const std::byte* data, std::size_t bytes, bool symmetric, const std::vector<Lent>& lent);
  // After the last operation on it has ended on all ranks.
  void close(int window);

  // Where an array lies; nothing where it is in no window.
  std::optional<Place> find(const void* array) const;
  bool symmetric(const Place& place) const { return opened_[place.window].symmetric; }
  // Of another rank's memory.
  char* begin(const Place& place, int rank) const { return opened_[place.window].at.begin[rank]; }
  // All of them, as kernels see them.
  const Window* on_gpu() const { return reinterpret_cast<const Window*>(table_); }

 private:
  struct Opened {
    const std::byte* data = nullptr;  // null: the place is free
    std::size_t bytes = 0;
    bool symmetric = false;
    Window at{};
    std::vector<Lent> lent;
  };

  const cuda::Driver& cuda_ = cuda::Driver::get();
  cuda::Context context_;
  PeerMemory& peers_;
  std::vector<Via> via_;
  int rank_;
  std::vector<Opened> opened_;
  cuda::Pointer table_ = 0;
};

}  // namespace railgauge::gpu
