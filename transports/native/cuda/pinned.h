// SPDX-License-Identifier: Apache-2.0
// Memory of the host that all GPUs of this process map.
#pragma once

#include <cstddef>

#include "transports/native/cuda/driver.h"

namespace railgauge::cuda {

class Pinned {
 public:
  // Error (kSystem): it cannot be allocated.
  Pinned(Context context, std::size_t size);
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  void* data() const { return data_; }

 private:
  Context context_;
  void* data_ = nullptr;
};

// The same for existing memory that outlives this.
class RegisteredHostMemory {
 public:
  RegisteredHostMemory(Context context, void* data, std::size_t size);
  ~RegisteredHostMemory();
  RegisteredHostMemory(const RegisteredHostMemory&) = delete;
  RegisteredHostMemory& operator=(const RegisteredHostMemory&) = delete;

  // As the context's GPU addresses it.
  char* there() const { return there_; }

 private:
  Context context_;
  void* data_;
  char* there_ = nullptr;
};

}  // namespace railgauge::cuda
