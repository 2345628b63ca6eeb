// SPDX-License-Identifier: Apache-2.0
// A rank's staging buffers: the memory that its peers write into, and theirs as this rank reaches
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/native/gpu/peer_memory.h"
#include "collectives/native/kernels/arguments.h"
#include "transports/native/cuda/gpu.h"
#include "transports/native/cuda/memory.h"
#include "transports/native/cuda/pinned.h"
#include "transports/native/shm/segment.h"

namespace railgauge::gpu {

class StagingBuffers {
 public:
  // Makes the staging buffers for data from each rank, on a GPU by CUDA's number; `peers` gives
  // access to the others', and outlives it. `handle_types`: of memory of the GPU for such handles
  // (cuda/exportable.h). Error (kSystem): not enough memory.
  StagingBuffers(int device, PeerMemory& peers, const Layout& layout, std::vector<Via> via,
                 int handle_types);

  // What each peer needs to write into its staging buffer here, by rank.
  std::vector<Lent> lend();
  // Opens what all ranks lent to this one, by rank; all ranks together. Error (kSystem),
  // (kTimeout): one cannot be reached.
  void open(const std::vector<Lent>& lent);

  int ranks() const { return static_cast<int>(via_.size()); }
  Via via(int rank) const { return via_[rank]; }
  // As kernels on this GPU address them; null without one.
  const StagingBuffer& in(int rank) const { return in_[rank]; }
  const StagingBuffer& out(int rank) const { return out_[rank]; }
  // As the host addresses those of kNet.
  std::byte* in_on_host(int rank) const { return shared_->data() + at_[rank]; }
  std::byte* out_on_host(int rank) const { return leaving_->data() + at_[rank]; }
  // The slots for data from a rank of kNet, or to it, as the host addresses them, or this GPU if
  // they are in its memory.
  std::byte* slots(int rank, bool incoming) const;
  bool slots_in_gpu(int rank, bool incoming) const {
    return (incoming ? in_slots_ : out_slots_)[rank] != nullptr;
  }
  std::size_t slots_bytes() const { return layout_.slots_bytes(); }
  // Moves them into this GPU's memory, or back. Error (kSystem): not enough memory.
  void move_slots(int rank, bool incoming, bool to_gpu);

 private:
  StagingBuffer buffer(char* words) const { return {words, words + layout_.slots_at()}; }
  char* register_memory(shm::Segment& segment);
  char* opened(int rank, const Lent& lent);

  const int device_;
  const cuda::Gpu gpu_;
  PeerMemory& peers_;
  const Layout layout_;
  std::vector<Via> via_;
  std::vector<std::size_t> at_;  // offset of each rank's buffer, in the memory of its kind
  std::vector<StagingBuffer> in_, out_;
  std::vector<std::unique_ptr<cuda::Memory>> in_slots_, out_slots_;  // in this GPU, of kNet
  std::optional<cuda::Memory> here_;                                 // staging buffers in this GPU
  std::unique_ptr<shm::Segment> shared_;                             // staging buffers on the host
  std::unique_ptr<shm::Segment> leaving_;                            // outgoing buffers of kNet
  std::vector<Reached> peers_memory_;
  std::vector<std::unique_ptr<shm::Segment>> opened_;
  std::vector<std::unique_ptr<cuda::RegisteredHostMemory>> registered_;
};

}  // namespace railgauge::gpu
