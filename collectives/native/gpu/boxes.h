// SPDX-License-Identifier: Apache-2.0
// A rank's boxes: the memory that its peers write into for it, and theirs as it reaches them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/native/kernels/arguments.h"
#include "transports/native/cuda/gpu.h"
#include "transports/native/cuda/memory.h"
#include "transports/native/cuda/pinned.h"
#include "transports/native/shm/segment.h"

namespace railgauge::gpu {

// How two ranks reach each other; the numbers are part of the Python binding
// (collectives/gpu_way.py).
enum class Via : int {
  kNone,    // not at all: itself, or a rank that it has nothing to do with
  kDirect,  // memory of the peer's GPU: one process has both
  kIpc,     // the same, mapped from another process
  kShm,     // memory of the host that both GPUs map
  kNet,     // a box at each end, and couriers between them
};
inline constexpr int kVias = 5;

// A box as its owner tells the peer that writes into it.
struct Lent {
  std::int64_t process;
  char bus_id[16];
  std::size_t at;          // of the box, from the start of what follows
  cuda::Pointer device;    // for kDirect
  cuda::IpcHandle handle;  // for kIpc
  char shared[96];         // for kShm: a Segment's descriptor
};

class Boxes {
 public:
  // Makes the boxes for what comes from each rank, on a GPU by CUDA's number. Error (kSystem): not
  // enough memory.
  Boxes(int device, const Layout& layout, std::vector<Via> via);

  // What a rank needs to write into its box here.
  Lent lent(int rank) const;
  // What all ranks lent this one, by rank. Error (kSystem): one cannot be reached.
  void open(const std::vector<Lent>& lent);

  int ranks() const { return static_cast<int>(via_.size()); }
  Via via(int rank) const { return via_[rank]; }
  // As kernels on this GPU address them; null where there are none.
  char* in(int rank) const { return in_[rank]; }
  char* out(int rank) const { return out_[rank]; }
  // As the host does, of kNet.
  std::byte* in_on_host(int rank) const { return shared_->data() + at_[rank]; }
  std::byte* out_on_host(int rank) const { return leaving_->data() + at_[rank]; }

 private:
  char* register_memory(shm::Segment& segment);
  char* opened(int rank, const Lent& lent);

  const cuda::Driver& cuda_ = cuda::Driver::get();
  const cuda::Gpu gpu_;
  std::vector<Via> via_;
  std::vector<std::size_t> at_;  // of each rank's box, in the memory of its kind
  std::vector<char*> in_, out_;
  std::vector<std::unique_ptr<cuda::Gpu>> peers_;  // of this process
  std::optional<cuda::Memory> here_;               // boxes in this GPU
  std::unique_ptr<shm::Segment> shared_;           // boxes on the host
  std::unique_ptr<shm::Segment> leaving_;          // of kNet, what goes out
  std::vector<std::unique_ptr<shm::Segment>> opened_;
  std::vector<std::unique_ptr<cuda::Registered>> registered_;
  std::vector<std::unique_ptr<cuda::Mapped>> mapped_;  // of other processes
};

}  // namespace railgauge::gpu
