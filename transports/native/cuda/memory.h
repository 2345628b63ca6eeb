// SPDX-License-Identifier: Apache-2.0
// Memory of one GPU, with ways for the host to write and read it.
#pragma once

#include <memory>

#include "transports/native/cuda/driver.h"

namespace railgauge::cuda {

// Where memory comes from: the driver, unless something else wants to know of it. Called in the
// GPU's context.
class Source {
 public:
  virtual ~Source() = default;
  // Error (kSystem): there is none left, or not of that kind.
  virtual Pointer take(std::size_t size);
  virtual void give_back(Pointer pointer);
};

// Bytes that can be taken of a GPU. Error (kSystem): no such GPU.
std::size_t memory_left(int device);

class Memory {
 public:
  // Error (kSystem): no such GPU, or not enough memory there.
  Memory(int device, std::size_t size, std::unique_ptr<Source> source = std::make_unique<Source>());
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

  std::unique_ptr<Source> source_;
  Device device_ = 0;
  Context context_ = nullptr;
  Pointer pointer_ = 0;
  std::size_t size_;
};

}  // namespace railgauge::cuda
