// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU exported to the drivers of other devices.
#pragma once

#include "transports/native/cuda/driver.h"
#include "transports/native/dma_buf.h"

namespace railgauge::cuda {

// The pages of a GPU's memory that hold `size` bytes from `pointer` on. Error (kSystem): the driver
// has no DMA-BUF of them.
DmaBuf exported(Context context, Pointer pointer, std::size_t size);

}  // namespace railgauge::cuda
