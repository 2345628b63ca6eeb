// SPDX-License-Identifier: Apache-2.0
// A rank's boxes: the memory that its peers write into for it, and theirs as it reaches them.
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

class Boxes {
 public:
  // Makes the boxes for what comes from each rank, on a GPU by CUDA's number; `peers` is its way to
  // the others', and outlives it. Error (kSystem): not enough memory.
  Boxes(int device, PeerMemory& peers, const Layout& layout, std::vector<Via> via);

  // What a rank needs to write into its box here.
  Lent lent(int rank) const;
  // What all ranks lent this one, by rank. Error (kSystem): one cannot be reached.
  void open(const std::vector<Lent>& lent);

  int ranks() const { return static_cast<int>(via_.size()); }
  Via via(int rank) const { return via_[rank]; }
  // As kernels on this GPU address them; null where there are none.
  const Box& in(int rank) const { return in_[rank]; }
  const Box& out(int rank) const { return out_[rank]; }
  // As the host does, of kNet.
  std::byte* in_on_host(int rank) const { return shared_->data() + at_[rank]; }
  std::byte* out_on_host(int rank) const { return leaving_->data() + at_[rank]; }
  // The slots of what comes from a rank of kNet, or of what leaves for it, as the host addresses
  // them, or this GPU where they lie in it.
  std::byte* slots(int rank, bool incoming) const;
  bool slots_in_gpu(int rank, bool incoming) const {
    return (incoming ? in_slots_ : out_slots_)[rank] != nullptr;
  }
  std::size_t slots_bytes() const { return layout_.slots_bytes(); }
  // Puts them into this GPU, or back. Error (kSystem): not enough memory.
  void move_slots(int rank, bool incoming, bool to_gpu);

 private:
  Box box(char* words) const { return {words, words + layout_.slots_at()}; }
  char* register_memory(shm::Segment& segment);
  char* opened(int rank, const Lent& lent);

  const int device_;
  const cuda::Gpu gpu_;
  PeerMemory& peers_;
  const Layout layout_;
  std::vector<Via> via_;
  std::vector<std::size_t> at_;  // of each rank's box, in the memory of its kind
  std::vector<Box> in_, out_;
  std::vector<std::unique_ptr<cuda::Memory>> in_slots_, out_slots_;  // in this GPU, of kNet
  std::optional<cuda::Memory> here_;                                 // boxes in this GPU
  std::unique_ptr<shm::Segment> shared_;                             // boxes on the host
  std::unique_ptr<shm::Segment> leaving_;                            // of kNet, what goes out
  std::vector<std::unique_ptr<shm::Segment>> opened_;
  std::vector<std::unique_ptr<cuda::Registered>> registered_;
};

}  // namespace railgauge::gpu
