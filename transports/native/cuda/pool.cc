// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/pool.h"

#include <utility>

#include "transports/native/cuda/waiting.h"

namespace railgauge::cuda {

IpcHandle exported_pointer(Pointer begin, const std::string& what) {
  IpcHandle handle{};
  Driver::get().check(Driver::get().pool_export_pointer(&handle, begin), what);
  return handle;
}

void allow_access_to_pool(Device device, Pointer pointer, const std::string& what) {
  const MemoryAccess access = access_of(device);
  const std::optional<Shareable> pool = Shareable::of(pointer);
  if (!pool) throw Error(ErrorCode::kSystem, what + ": its memory is gone");
  Driver::get().check(Driver::get().pool_access(pool->handle(), &access, 1), what);
}

MappedOfPool::MappedOfPool(const Gpu& gpu, Shareable pool, const IpcHandle& pointer,
                           const std::string& what)
    : context_(gpu.context()), pool_(std::move(pool)) {
  const Current current(context_);
  const Driver& cuda = Driver::get();
  const MemoryAccess access = access_of(gpu.device());
  cuda.check(cuda.pool_access(pool_.handle(), &access, 1), what);
  cuda.check(cuda.pool_import_pointer(&pointer_, pool_.handle(), &pointer), what);
}

// To free it waits for the GPU, as with memory of cudaMalloc.
MappedOfPool::~MappedOfPool() {
  if (const Closing gpu(context_); gpu) Driver::get().memory_free(pointer_);
}

}  // namespace railgauge::cuda
