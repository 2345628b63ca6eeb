// SPDX-License-Identifier: Apache-2.0
// Multicast objects: one address for the same place in memory of several GPUs, where a store goes
// to all of them and a load brings their sum (NVLink SHARP). Instructions of their own access it
// (collectives/native/kernels/ptx.cuh); what others do there is undefined.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "transports/native/cuda/driver.h"
#include "transports/native/cuda/gpu.h"
#include "transports/native/cuda/virtual_memory.h"

namespace railgauge::cuda {

// Why a GPU, by CUDA's number, can be in none; empty: it can.
std::string why_no_multicast(int device);

// One for memory of so many GPUs, each of so many bytes, in the units of allocations; it goes to
// other processes as an allocation does. Error (kSystem): the driver has none left, or of that
// size.
MappedPiece multicast_object(int gpus, std::size_t bytes);

// One GPU in it.
class MulticastMember {
 public:
  // Adds the GPU. Error (kSystem): the driver refuses it.
  MulticastMember(const Gpu& gpu, MappedPiece object);
  // Waits for the GPU first: kernels may still use the address.
  ~MulticastMember();
  MulticastMember(const MulticastMember&) = delete;
  MulticastMember& operator=(const MulticastMember&) = delete;

  // Binds memory of this GPU, as long as the object, and maps the address. Only once all GPUs have
  // been added: the driver waits for them without end. Error (kSystem).
  void bind(const MappedPiece& memory);
  // The address; 0: nothing is bound yet.
  Pointer pointer() const { return range_ ? range_->pointer() : 0; }

 private:
  MemoryHandle handle() const { return object_[0].memory.handle(); }

  const Driver& cuda_ = Driver::get();
  const Gpu& gpu_;
  std::vector<MappedPiece> object_;  // one
  bool is_bound_ = false;
  std::optional<MappedRange> range_;
};

}  // namespace railgauge::cuda
