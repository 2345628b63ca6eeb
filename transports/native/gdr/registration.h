// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU registered with RDMA devices, in NCCL's order: as a DMA-BUF, else by the driver's
// peer-memory module (nvidia_peermem), which makes ibv_reg_mr take the GPU's address.
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

// Has memory registered: `with` does it, by a DMA-BUF where it is given one, and throws where it
// cannot. What was tried, the last of it with success, or with none where nothing works.
std::vector<Attempt> registered(cuda::Context context, cuda::Pointer pointer, std::size_t bytes,
                                bool dma_buf,
                                const std::function<void(std::shared_ptr<const DmaBuf>)>& with);

}  // namespace railgauge::gdr
