// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/pinned.h"

#include "transports/native/cuda/waiting.h"

namespace railgauge::cuda {

namespace {

constexpr unsigned kEverywhere =
    1 | 2;  // CU_MEMHOSTALLOC_, CU_MEMHOSTREGISTER_PORTABLE, _DEVICEMAP

}  // namespace

Pinned::Pinned(Context context, std::size_t size) : context_(context) {
  const Current current(context_);
  const Driver& cuda = Driver::get();
  cuda.check(cuda.host_allocate(&data_, size, kEverywhere), "pinning host memory");
}

Pinned::~Pinned() {
  if (const Closing gpu(context_); gpu) Driver::get().host_free(data_);
}

RegisteredHostMemory::RegisteredHostMemory(Context context, void* data, std::size_t size)
    : context_(context), data_(data) {
  const Current current(context_);
  const Driver& cuda = Driver::get();
  cuda.check(cuda.host_register(data, size, kEverywhere),
             "pinning " + std::to_string(size) + " bytes of host memory");
  Pointer there = 0;
  const Result result = cuda.host_pointer(&there, data, 0);
  if (result) cuda.host_unregister(data);
  cuda.check(result, "mapping host memory into a GPU");
  there_ = reinterpret_cast<char*>(there);
}

RegisteredHostMemory::~RegisteredHostMemory() {
  if (const Closing gpu(context_); gpu) Driver::get().host_unregister(data_);
}

}  // namespace railgauge::cuda
