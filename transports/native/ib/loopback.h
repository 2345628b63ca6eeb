// SPDX-License-Identifier: Apache-2.0
// A queue pair that is connected with itself: its device moves this host's own memory.
#pragma once

#include <chrono>
#include <memory>

#include "transports/native/ib/completion_queue.h"
#include "transports/native/ib/queue_pair.h"
#include "transports/native/ib/region.h"

namespace railgauge::ib {

class Loopback {
 public:
  // Throws Error(kSystem) when the device refuses.
  explicit Loopback(const std::shared_ptr<Rail>& rail);

  // RDMA WRITE from memory to memory, both of registered regions, `to` with kRemoteWrite; returns
  // when it is done. Throws Error(kSystem) with the device's error, Error(kTimeout).
  void write(const Region& region, const std::byte* from, const Region& into, const std::byte* to,
             std::size_t bytes, std::chrono::nanoseconds limit);
  // RDMA READ, likewise; `from` with kRemoteRead. When it is done, data that this device received
  // into `from` before is visible to everyone.
  void read(const Region& region, const std::byte* from, const Region& into, std::byte* to,
            std::size_t bytes, std::chrono::nanoseconds limit);

 private:
  void move(int opcode, const Region& here, const std::byte* at, const Region& there,
            const std::byte* remote, std::size_t bytes, std::chrono::nanoseconds limit);

  std::shared_ptr<Rail> rail_;
  CompletionQueue completions_;
  QueuePair pair_;
};

}  // namespace railgauge::ib
