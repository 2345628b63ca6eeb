// SPDX-License-Identifier: Apache-2.0
// A device's memory as a DMA-BUF: a descriptor through which the drivers of other devices access
// it.
#pragma once

#include <cstddef>

#include "transports/native/fd.h"

namespace railgauge {

struct DmaBuf {
  Fd fd;
  std::size_t offset;  // of the memory in it
};

}  // namespace railgauge
