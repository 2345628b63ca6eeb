// SPDX-License-Identifier: Apache-2.0
// Collectives between GPUs that map each other's memory, one rank's end: its segment, the peers' as
// mapped here, and the kernels that run an operation on a stream of the caller.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/native/kernels/arguments.h"
#include "collectives/native/operation.h"
#include "transports/native/cuda/clock.h"
#include "transports/native/cuda/driver.h"

namespace railgauge::gpu {

enum class Way : int { kLowLatency, kPush, kFullLines };

// A rank's segment as it is told to the others.
struct Lent {
  std::int64_t process;
  cuda::Pointer segment;   // for ranks of the same process
  cuda::IpcHandle handle;  // for those of others
  char bus_id[16];
};

class Engine {
 public:
  // `device` by CUDA's number. Error (kSystem): no driver, no such device, not enough memory.
  Engine(int device, int rank, int ranks, double timeout_s);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // What the others need to map this rank's segment.
  Lent lent() const;
  // Map the segments of all ranks, by rank. Error (kInvalid): two ranks have one GPU; (kSystem): a
  // GPU cannot be reached.
  void connect(const std::vector<Lent>& lent);

  // Put an operation on a stream; arrays are in this device's memory. All ranks in one order. Way
  // and blocks (0: as fits) are the same on all.
  void run(const Operation& operation, cuda::Stream stream, Way way, int blocks,
           std::uint32_t chunk_bytes);
  // Run an operation on a stream of its own, as Clock::time does; the seconds one took.
  double repeat(const Operation& operation, int ahead, int times, int replays);
  // Which way is due.
  Way way(const Operation& operation) const;
  // PeerLost where a kernel has waited too long.
  void check() const;
  // Let all kernels leave that wait.
  void abort() { status_->abort = 1; }
  void synchronize(cuda::Stream stream) const;

 private:
  cuda::Pointer map(const Lent& lent, int peer, const Lent& own);
  cuda::Function function(const Operation& operation, Way way);

  const cuda::Driver& cuda_ = cuda::Driver::get();
  cuda::Device device_ = 0;
  cuda::Context context_ = nullptr;
  int processors_ = 0;
  Arguments arguments_{};
  Status* status_ = nullptr;
  double timeout_s_;
  std::optional<cuda::Clock> clock_;
  cuda::Pointer segment_ = 0;
  std::vector<cuda::Pointer> mapped_;   // of other processes
  std::vector<cuda::Device> retained_;  // of this process, beside the own one
  std::array<cuda::Module, kDtypes> modules_{};
};

}  // namespace railgauge::gpu
