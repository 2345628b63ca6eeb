// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU that other processes map through descriptors: they need no common pid or IPC
// namespace.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "transports/native/cuda/gpu.h"
#include "transports/native/cuda/memory.h"
#include "transports/native/cuda/virtual_memory.h"

namespace railgauge::cuda {

// Why a GPU, by CUDA's number, can have no such memory here; empty: it can.
std::string why_not_exportable(int device);

class Exportable : public Source {
 public:
  explicit Exportable(int device) : gpu_(device) {}

  Pointer take(std::size_t size, const std::string& gpu) override;
  void give_back(Pointer) override { range_.reset(); }

 private:
  const Gpu gpu_;
  std::optional<MappedRange> range_;
};

// Of exportable memory, or of cudaMalloc's.
std::unique_ptr<Source> source(int device, bool exportable);

}  // namespace railgauge::cuda
