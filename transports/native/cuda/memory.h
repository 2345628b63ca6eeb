// SPDX-License-Identifier: Apache-2.0
// Memory of one GPU, which the host can write and read.
#pragma once

#include <memory>
#include <string>

#include "transports/native/cuda/driver.h"
#include "transports/native/cuda/gpu.h"

namespace railgauge::cuda {

// Where memory comes from: the driver, unless another library has to allocate it. Called in the
// GPU's context.
class Source {
 public:
  virtual ~Source() = default;
  // `gpu`: its name in messages. Error (kSystem): there is none left, or not of that kind.
  virtual Pointer take(std::size_t size, const std::string& gpu);
  virtual void give_back(Pointer pointer);
};

// Free bytes of a GPU, which stays open from then on: opening one takes long. Error
// (kSystem): no such GPU.
std::size_t memory_left(int device);

class Memory {
 public:
  // Error (kSystem): no such GPU, or not enough memory there.
  Memory(int device, std::size_t size, std::unique_ptr<Source> source = std::make_unique<Source>());
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  Context context() const { return gpu_.context(); }
  Pointer pointer() const { return pointer_; }
  std::size_t size() const { return size_; }
  // For the first `size` bytes; each returns when it is done.
  void write(const void* from, std::size_t size);
  void read(void* to, std::size_t size) const;
  void set(std::uint8_t value, std::size_t size);

 private:
  void check_size(std::size_t size) const;

  std::unique_ptr<Source> source_;
  const Gpu gpu_;
  Pointer pointer_ = 0;
  std::size_t size_;
};

// Memory of a GPU that another process has exported, mapped here.
class Mapped {
 public:
  // `what` names the step in messages. Error (kSystem): it cannot be mapped.
  Mapped(Context context, const IpcHandle& handle, const std::string& what);
  ~Mapped();
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  Pointer pointer() const { return pointer_; }

 private:
  Context context_;
  Pointer pointer_ = 0;
};

}  // namespace railgauge::cuda
