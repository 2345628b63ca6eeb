// SPDX-License-Identifier: Apache-2.0
// Memory of one GPU, with ways for the host to write and read it.
#pragma once

#include "transports/native/cuda/driver.h"

namespace railgauge::cuda {

class Memory {
 public:
  // Error (kSystem): no such GPU, or not enough memory there.
  Memory(int device, std::size_t size);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  Context context() const { return context_; }
  Pointer pointer() const { return pointer_; }
  std::size_t size() const { return size_; }
  // Of the first `size` bytes; each returns when it is done.
  void write(const void* from, std::size_t size);
  void read(void* to, std::size_t size) const;
  void set(std::uint8_t value, std::size_t size);

 private:
  void check_size(std::size_t size) const;

  Device device_ = 0;
  Context context_ = nullptr;
  Pointer pointer_ = 0;
  std::size_t size_;
};

}  // namespace railgauge::cuda
