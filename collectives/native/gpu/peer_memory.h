// SPDX-License-Identifier: Apache-2.0
// Memory of the peers' GPUs, as this GPU maps it. What cudaMalloc made goes between processes by
// CUDA IPC, memory of cuMemMap by a file descriptor for each of its pieces, and memory of a pool by
// one of the pool. Between hosts of one NVLink domain memory of cuMemMap goes, by a fabric handle
// for each of its pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transports/native/cuda/gpu.h"
#include "transports/native/cuda/memory.h"
#include "transports/native/cuda/virtual_memory.h"
#include "transports/native/fd_socket.h"

namespace railgauge::gpu {

// How two ranks reach each other; the numbers are part of the Python binding
// (collectives/gpu_way.py).
enum class Via : int {
  kNone,    // not at all: itself, or a rank without a connection
  kDirect,  // memory of the peer's GPU in the same process
  kIpc,     // the same, mapped from another process
  kShm,     // memory of the host that both GPUs map
  kNet,     // a staging buffer at each end, and proxies between them
  kMnnvl,   // memory of the peer's GPU, mapped from another host of one NVLink domain
};
inline constexpr int kVias = 6;

inline bool in_gpu(Via via) {
  return via == Via::kDirect || via == Via::kIpc || via == Via::kMnnvl;
}

// A piece of memory as another host imports it.
struct FabricPiece {
  cuda::IpcHandle handle;  // a CUmemFabricHandle
  std::size_t bytes;
};

// What a peer needs to know of any memory.
struct LentFacts {
  std::int64_t process;
  char bus_id[16];
  std::size_t at;             // offset from the start of the following
  cuda::Pointer device;       // for kDirect
  cuda::IpcHandle handle;     // for kIpc, of cudaMalloc or a pool
  char shared[96];            // for kShm: a Segment's descriptor
  std::size_t bytes;          // of all pieces
  std::uint32_t pieces;       // 0: of cudaMalloc
  cuda::ShareableKind kind;   // of the pieces
  FdSocket::Address answers;  // for kIpc: where the owner takes descriptors
};

// Memory as its owner describes it to a peer.
struct Lent : LentFacts {
  std::vector<FabricPiece> fabric;  // for kMnnvl; the same to all peers
};

// A peer's memory as this GPU reaches it, for as long as this lives.
struct Reached {
  char* begin;
  std::shared_ptr<const void> mapped;  // null in this process
};

class PeerMemory {
 public:
  // Of a rank's GPU by CUDA's number; `via` says how each rank is reached. Waits for other ranks
  // end when nothing has arrived for the timeout, and call `look_up` meanwhile, which may throw.
  PeerMemory(int device, int rank, std::vector<Via> via, double timeout_s,
             std::function<void()> look_up);
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  // What each peer needs to reach this GPU's memory from `pointer` on, by rank; `what` names the
  // step. Error (kSystem): that is no memory of this GPU, or of a kind that cannot be exported.
  std::vector<Lent> lend(cuda::Pointer pointer, std::size_t bytes, const std::string& what);
  // What all ranks lent to this one, by rank, in turn with lend(): all ranks together, since
  // descriptors go between them. Error (kSystem): memory cannot be reached; (kTimeout): nothing has
  // arrived.
  std::vector<Reached> open(const std::vector<Lent>& lent);
  // Allocations, if any, that all ranks get as descriptors, in the same process too: what each
  // needs to take them. Error (kSystem): they cannot be described.
  Lent offer(std::vector<cuda::MappedPiece> pieces);
  // What all ranks offered, by rank, in turn with offer(): all ranks together. Errors are those of
  // open().
  std::vector<std::vector<cuda::MappedPiece>> take(const std::vector<Lent>& offered);
  // In place of open() or take(), where a rank could not lend its memory.
  void withdraw();

 private:
  struct Imported {
    Lent lent;
    char* begin;
    std::weak_ptr<const void> mapped;
  };

  bool has(Via via) const;
  std::string named(int rank, const Lent& lent) const;
  // Of memory in pieces, without where it is.
  Lent described(const std::vector<cuda::MappedPiece>& pieces) const;
  // By rank the pieces that arrived from those that are reached in such a way, and the own ones.
  std::vector<std::vector<cuda::MappedPiece>> exchanged(const std::vector<Lent>& lent,
                                                        bool (*comes_from)(Via));
  std::vector<cuda::MappedPiece> of_fabric(const Lent& lent, const std::string& whom) const;
  Reached imported(const Lent& lent, std::vector<cuda::MappedPiece> pieces,
                   const std::string& whom);
  // Memory that is opened once, however often parts of it are used.
  template <class Open>
  Reached once(const Lent& lent, const Open& open);
  Reached allowed(const Lent& lent, const std::string& whom);
  void reach(const Lent& lent, const std::string& whom);

  const cuda::Driver& cuda_ = cuda::Driver::get();
  const cuda::Gpu gpu_;
  const int rank_;
  const std::vector<Via> via_;
  const double timeout_s_;
  const std::function<void()> look_up_;
  std::vector<std::unique_ptr<cuda::Gpu>> others_;  // of this process
  std::vector<Imported> imported_;                  // by CUDA IPC, and of pools
  // From lend() to open().
  std::vector<cuda::MappedPiece> lending_;
  std::optional<FdSocket> answers_;
};

}  // namespace railgauge::gpu
