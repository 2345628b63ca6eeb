// SPDX-License-Identifier: Apache-2.0
// Collectives between GPUs that map each other's memory, one rank's end: its segment, the peers' as
// mapped here, and the kernels that run an operation on a stream of the caller.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "collectives/native/kernels/arguments.h"
#include "collectives/native/operation.h"
#include "transports/native/cuda/driver.h"

namespace railgauge::gpu {

enum class Way : int { kLowLatency, kPush };

class Engine {
 public:
  // `device` by CUDA's number. Error (kSystem): no driver, no such device, not enough memory.
  Engine(int device, int rank, int ranks, double timeout_s);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Of this rank's segment, for other processes.
  cuda::IpcHandle handle() const;
  // Map the segments of all ranks (the own one is not looked at).
  void connect(const std::vector<cuda::IpcHandle>& handles);

  // Put an operation on a stream; arrays are in this device's memory. All ranks in one order. Way and
  // blocks (0: as fits) are the same on all.
  void run(const Operation& operation, cuda::Stream stream, Way way, int blocks, std::uint32_t chunk_bytes);
  // Which way is due.
  Way way(const Operation& operation) const;
  // PeerLost where a kernel has waited too long.
  void check() const;
  // Let all kernels leave that wait.
  void abort() { status_->abort = 1; }
  void synchronize(cuda::Stream stream) const;

 private:
  cuda::Function function(const Operation& operation, Way way);

  const cuda::Driver& cuda_ = cuda::Driver::get();
  cuda::Device device_ = 0;
  cuda::Context context_ = nullptr;
  int processors_ = 0;
  Arguments arguments_{};
  Status* status_ = nullptr;
  std::array<cuda::Pointer, kMostRanks> mapped_{};
  std::array<cuda::Module, kDtypes> modules_{};
};

}  // namespace railgauge::gpu
