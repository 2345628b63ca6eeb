// SPDX-License-Identifier: Apache-2.0
// Whether GPUs of several hosts map each other's memory (MNNVL), by trying it with a little of
// each.
#pragma once

#include <optional>
#include <string>

#include "transports/native/cuda/driver.h"
#include "transports/native/cuda/gpu.h"
#include "transports/native/cuda/shareable.h"

namespace railgauge::cuda {

class FabricTrial {
 public:
  // Takes memory of a GPU, by CUDA's number, and exports it. Error (kSystem): it cannot have such
  // memory here.
  explicit FabricTrial(int device);

  // For the others, until this is gone.
  const IpcHandle& handle() const { return handle_; }
  // Why memory of another one cannot be imported; empty: it can.
  std::string why_not(const IpcHandle& other) const;

 private:
  const Gpu gpu_;
  std::optional<Shareable> memory_;
  IpcHandle handle_;
};

}  // namespace railgauge::cuda
