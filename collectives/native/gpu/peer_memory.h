// SPDX-License-Identifier: Apache-2.0
// Memory of the peers' GPUs, as this GPU maps it: what they lend is opened once, whatever of it is
// used how often.
#pragma once

#include <cstdint>
#include <vector>

#include "transports/native/cuda/driver.h"

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

inline bool in_gpu(Via via) { return via == Via::kDirect || via == Via::kIpc; }

// Memory as its owner tells it to a peer.
struct Lent {
  std::int64_t process;
  char bus_id[16];
  std::size_t at;          // of what is meant, from the start of what follows
  cuda::Pointer device;    // for kDirect
  cuda::IpcHandle handle;  // for kIpc
  char shared[96];         // for kShm: a Segment's descriptor
};

class PeerMemory {
 public:
  PeerMemory(cuda::Context context, cuda::Device device) : context_(context), device_(device) {}
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  // What a peer needs to reach this GPU's memory from `allocation` on, where it begins. Error
  // (kSystem): memory of that kind cannot be lent.
  Lent lent(Via via, cuda::Pointer allocation) const;
  // A peer's, of kDirect or kIpc. Error (kSystem): it cannot be reached.
  char* open(int rank, Via via, const Lent& lent);
  // Not needed any more, as often as it was opened.
  void close(const Lent& lent);

 private:
  struct Mapped {
    Lent lent;
    cuda::Pointer there;
    int users;
  };
  std::vector<Mapped>::iterator mapped(const Lent& lent);

  const cuda::Driver& cuda_ = cuda::Driver::get();
  cuda::Context context_;
  cuda::Device device_;
  std::vector<Mapped> mapped_;          // of other processes
  std::vector<cuda::Device> retained_;  // of this process, beside the own one
};

}  // namespace railgauge::gpu
