// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU registered with RDMA devices, in NCCL's order: as a DMA-BUF, else through the
// driver's peer-memory module (nvidia_peermem), with which ibv_reg_mr accepts the GPU's address.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transports/native/cuda/driver.h"
#include "transports/native/dma_buf.h"

namespace railgauge::gdr {

struct Attempt {
  std::string how;    // kDmaBuf, kPeerMemory
  std::string error;  // empty: it is registered so
};
inline constexpr const char* kDmaBuf = "DMA-BUF";
inline constexpr const char* kPeerMemory = "peer memory";

// Registers memory: `with` does it, as a DMA-BUF if it is given one, and throws if it cannot.
// Returns the attempts; only the last one can have succeeded.
std::vector<Attempt> registered(cuda::Context context, cuda::Pointer pointer, std::size_t bytes,
                                bool dma_buf,
                                const std::function<void(std::shared_ptr<const DmaBuf>)>& with);

}  // namespace railgauge::gdr
