// SPDX-License-Identifier: Apache-2.0
// A trial of GPUDirect RDMA: a port writes into a GPU's memory, and sends from it, and every byte
// is verified.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "transports/native/gdr/registration.h"
#include "transports/native/ib/rail.h"

namespace railgauge::gdr {

struct Trial {
  std::vector<Attempt> registration;
  std::string failed;  // the step that failed, and why; empty: all bytes were correct
};

// With `bytes` of the memory of a GPU, by its bus id; `dma_buf`: whether that is tried. Throws
// Error(kSystem) if there is no such GPU, or too little memory.
Trial tried(const std::shared_ptr<ib::Rail>& rail, const std::string& bus_id, std::size_t bytes,
            bool dma_buf, std::chrono::nanoseconds limit);

}  // namespace railgauge::gdr
