// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/memory.h"

namespace railgauge::cuda {

Pointer Source::take(std::size_t size) {
  Pointer pointer = 0;
  const Driver& cuda = Driver::get();
  cuda.check(cuda.memory_allocate(&pointer, size),
             "taking " + std::to_string(size) + " bytes of a GPU");
  return pointer;
}

void Source::give_back(Pointer pointer) { Driver::get().memory_free(pointer); }

std::size_t memory_left(int device) {
  const Memory opened(device, 1);
  const Current current(opened.context());
  std::size_t left = 0, all = 0;
  Driver::get().check(Driver::get().memory_left(&left, &all), "asking a GPU for its memory");
  return left;
}

Memory::Memory(int device, std::size_t size, std::unique_ptr<Source> source)
    : source_(std::move(source)), size_(size) {
  const Driver& cuda = Driver::get();
  const std::string gpu = "GPU " + std::to_string(device);
  cuda.check(cuda.device_get(&device_, device), gpu);
  cuda.check(cuda.context_retain(&context_, device_), "opening " + gpu);
  const Current current(context_);
  try {
    pointer_ = source_->take(size ? size : 1);
  } catch (...) {
    cuda.context_release(device_);
    throw;
  }
}

Memory::~Memory() {
  const Driver& cuda = Driver::get();
  {
    const Current current(context_);
    source_->give_back(pointer_);
  }
  cuda.context_release(device_);
}

void Memory::write(const void* from, std::size_t size) {
  check_size(size);
  const Current current(context_);
  Driver::get().check(Driver::get().memory_write(pointer_, from, size), "writing memory of a GPU");
}

void Memory::read(void* to, std::size_t size) const {
  check_size(size);
  const Current current(context_);
  Driver::get().check(Driver::get().memory_read(to, pointer_, size), "reading memory of a GPU");
}

void Memory::set(std::uint8_t value, std::size_t size) {
  check_size(size);
  const Current current(context_);
  const Driver& cuda = Driver::get();
  cuda.check(cuda.memory_set(pointer_, value, size), "setting memory of a GPU");
  cuda.check(cuda.stream_synchronize(nullptr), "setting memory of a GPU");
}

void Memory::check_size(std::size_t size) const {
  if (size > size_) throw Error(ErrorCode::kInvalid, "this memory of a GPU is shorter");
}

}  // namespace railgauge::cuda
