// SPDX-License-Identifier: Apache-2.0
// Memory of the peers' GPUs, as this GPU maps it: each exported allocation is opened once, however
// often parts of it are used.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "transports/native/cuda/gpu.h"
#include "transports/native/cuda/memory.h"

namespace railgauge::gpu {

// How two ranks reach each other; the numbers are part of the Python binding
// (collectives/gpu_way.py).
enum class Via : int {
  kNone,    // not at all: itself, or a rank without a connection
  kDirect,  // memory of the peer's GPU in the same process
  kIpc,     // the same, mapped from another process
  kShm,     // memory of the host that both GPUs map
  kNet,     // a staging buffer at each end, and proxies between them
};
inline constexpr int kVias = 5;

inline bool in_gpu(Via via) { return via == Via::kDirect || via == Via::kIpc; }

// Memory as its owner describes it to a peer.
struct Lent {
  std::int64_t process;
  char bus_id[16];
  std::size_t at;          // offset from the start of the following
  cuda::Pointer device;    // for kDirect
  cuda::IpcHandle handle;  // for kIpc
  char shared[96];         // for kShm: a Segment's descriptor
};

class PeerMemory {
 public:
  // Of a GPU by CUDA's number.
  explicit PeerMemory(int device) : gpu_(device) {}
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  // What a peer needs to reach this GPU's memory, which starts at `allocation`. Error (kSystem):
  // memory of that kind cannot be exported.
  Lent lent(Via via, cuda::Pointer allocation) const;
  // A peer's, of kDirect or kIpc. Error (kSystem): it cannot be reached.
  char* open(int rank, Via via, const Lent& lent);
  // Closes it, once for each time it was opened.
  void close(const Lent& lent);

 private:
  struct Mapped {
    Lent lent;
    std::unique_ptr<cuda::Mapped> memory;
    int users;
  };
  std::vector<Mapped>::iterator mapped(const Lent& lent);

  const cuda::Driver& cuda_ = cuda::Driver::get();
  const cuda::Gpu gpu_;
  std::vector<std::unique_ptr<cuda::Gpu>> others_;  // of this process
  std::vector<Mapped> mapped_;                      // of other processes
};

}  // namespace railgauge::gpu
