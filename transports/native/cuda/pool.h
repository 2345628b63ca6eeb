// SPDX-License-Identifier: Apache-2.0
// Memory of pools (cudaMallocAsync) that other GPUs and processes access.
#pragma once

#include <string>

#include "transports/native/cuda/driver.h"
#include "transports/native/cuda/gpu.h"
#include "transports/native/cuda/shareable.h"

namespace railgauge::cuda {

// What another process needs besides the pool to map an allocation of it. Error (kSystem).
IpcHandle exported_pointer(Pointer begin, const std::string& what);

// Gives a GPU access to a pool of this process, by an address in it.
void allow_access_to_pool(Device device, Pointer pointer, const std::string& what);

// An allocation of another process's pool, mapped here.
class MappedOfPool {
 public:
  // `what` names the step in messages. Error (kSystem): it cannot be mapped.
  MappedOfPool(const Gpu& gpu, Shareable pool, const IpcHandle& pointer, const std::string& what);
  ~MappedOfPool();
  MappedOfPool(const MappedOfPool&) = delete;
  MappedOfPool& operator=(const MappedOfPool&) = delete;

  Pointer pointer() const { return pointer_; }

 private:
  const Context context_;
  const Shareable pool_;
  Pointer pointer_ = 0;
};

}  // namespace railgauge::cuda
