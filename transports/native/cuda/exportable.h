// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU that other processes map through descriptors, for which they need no common pid
// or IPC namespace, and those of other hosts in its NVLink domain by fabric handles.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "transports/native/cuda/gpu.h"
#include "transports/native/cuda/memory.h"
#include "transports/native/cuda/virtual_memory.h"

namespace railgauge::cuda {

// Why a GPU, by CUDA's number, can have no memory with descriptors here; empty: it can.
std::string why_not_exportable(int device);

class Exportable : public Source {
 public:
  // `handle_types`: kAsDescriptor, kAsFabricHandle, or both together.
  Exportable(int device, int handle_types) : gpu_(device), handle_types_(handle_types) {}

  Pointer take(std::size_t size, const std::string& gpu) override;
  void give_back(Pointer) override { range_.reset(); }

 private:
  const Gpu gpu_;
  const int handle_types_;
  std::optional<MappedRange> range_;
};

// Of memory with such handles; 0: of cudaMalloc's.
std::unique_ptr<Source> source(int device, int handle_types);

}  // namespace railgauge::cuda
