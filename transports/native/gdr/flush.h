// SPDX-License-Identifier: Apache-2.0
// Before Hopper a kernel may be notified of data that a NIC has written before that data is
// visible. A read of the GPU's memory by the same NIC is ordered after it (as in NCCL:
// ncclTopoNeedFlush, ncclIbIflush).
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "transports/native/ib/loopback.h"
#include "transports/native/ib/proxy.h"

namespace railgauge::gdr {

class Flush {
 public:
  // For memory of a GPU that `proxy` has registered for reading and writing, written over `rails`.
  // Throws what Loopback does.
  Flush(std::shared_ptr<ib::Proxy> proxy, const ib::Rails& rails, const std::byte* data,
        std::size_t bytes, std::chrono::nanoseconds limit);
  // When it returns, all received data is visible to the GPU. Throws what Loopback does.
  void run();

 private:
  std::shared_ptr<ib::Proxy> proxy_;
  const std::byte* data_;
  const ib::Region& memory_;
  std::chrono::nanoseconds limit_;
  std::byte landing_{};
  ib::Region here_;
  std::vector<std::unique_ptr<ib::Loopback>> loopbacks_;  // of each rail
};

}  // namespace railgauge::gdr
