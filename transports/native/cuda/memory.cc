// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/memory.h"

#include "transports/native/cuda/waiting.h"

namespace railgauge::cuda {

namespace {

constexpr double kSetPatience = 60;        // s: to set memory takes milliseconds
constexpr unsigned kEnablePeerAccess = 1;  // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS

}  // namespace

Pointer Source::take(std::size_t size, const std::string& gpu) {
  Pointer pointer = 0;
  const Driver& cuda = Driver::get();
  cuda.check(cuda.memory_allocate(&pointer, size),
             "taking " + std::to_string(size) + " bytes of " + gpu);
  return pointer;
}

void Source::give_back(Pointer pointer) { Driver::get().memory_free(pointer); }

std::size_t memory_left(int device) {
  const Driver& cuda = Driver::get();
  const std::string gpu = "GPU " + std::to_string(device);
  Device handle;
  Context context;
  cuda.check(cuda.device_get(&handle, device), gpu);
  cuda.check(cuda.context_retain(&context, handle), "opening " + gpu);
  const Current current(context);
  std::size_t left = 0, all = 0;
  cuda.check(cuda.memory_left(&left, &all), "asking " + gpu + " for its memory");
  return left;
}

Memory::Memory(int device, std::size_t size, std::unique_ptr<Source> source)
    : source_(std::move(source)), gpu_(device), size_(size) {
  const Current current(context());
  pointer_ = source_->take(size ? size : 1, "GPU " + std::to_string(device));
}

Memory::~Memory() {
  if (const Closing gpu(context()); gpu) source_->give_back(pointer_);
}

void Memory::write(const void* from, std::size_t size) {
  check_size(size);
  const Current current(context());
  Driver::get().check(Driver::get().memory_write(pointer_, from, size), "writing memory of a GPU");
}

void Memory::read(void* to, std::size_t size) const {
  check_size(size);
  const Current current(context());
  Driver::get().check(Driver::get().memory_read(to, pointer_, size), "reading memory of a GPU");
}

void Memory::set(std::uint8_t value, std::size_t size) {
  check_size(size);
  const Current current(context());
  const Driver& cuda = Driver::get();
  cuda.check(cuda.memory_set(pointer_, value, size), "setting memory of a GPU");
  await(context(), Stream(nullptr), kSetPatience, "setting memory of a GPU");
}

void Memory::check_size(std::size_t size) const {
  if (size > size_) throw Error(ErrorCode::kInvalid, "this memory of a GPU is shorter");
}

Mapped::Mapped(Context context, const IpcHandle& handle, const std::string& what)
    : context_(context) {
  const Current current(context_);
  const Driver& cuda = Driver::get();
  cuda.check(cuda.ipc_import(&pointer_, handle, kEnablePeerAccess), what);
}

Mapped::~Mapped() {
  if (const Closing gpu(context_); gpu) Driver::get().ipc_close(pointer_);
}

}  // namespace railgauge::cuda
