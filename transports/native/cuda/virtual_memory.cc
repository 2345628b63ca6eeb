// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/virtual_memory.h"

#include <optional>
#include <utility>

#include "transports/native/cuda/waiting.h"

namespace railgauge::cuda {

namespace {

constexpr int kPinned = 1;   // CU_MEM_ALLOCATION_TYPE_PINNED
constexpr int kMinimum = 0;  // CU_MEM_ALLOC_GRANULARITY_MINIMUM
constexpr int kRdmaOfVirtualMemory =
    110;  // CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED
// s: what a program has put on its streams may take long; a GPU that hangs is known before.
constexpr double kUnmapPatience = 60;

}  // namespace

MappedPiece created(const Gpu& gpu, std::size_t bytes, int handle_types, const std::string& what) {
  const Driver& cuda = Driver::get();
  MemoryProperties properties{};
  properties.type = kPinned;
  properties.handle_types = handle_types;
  properties.location = access_of(gpu.device()).location;
  properties.gpu_direct_rdma = gpu.attribute(kRdmaOfVirtualMemory) != 0;
  std::size_t unit = 0;
  cuda.check(cuda.memory_granularity(&unit, &properties, kMinimum), what);
  const std::size_t rounded = (bytes + unit - 1) / unit * unit;
  MemoryHandle handle;
  cuda.check(cuda.memory_create(&handle, rounded, &properties, 0), what);
  return {Shareable(handle), rounded};
}

Backing backing_of(Pointer pointer, std::size_t bytes, const std::string& what) {
  const Driver& cuda = Driver::get();
  Backing found{};
  Pointer at = pointer, end = 0;
  do {
    Pointer begin = 0;
    std::size_t size = 0;
    cuda.check(cuda.memory_range(&begin, &size, at), what);
    if (!end) found.begin = begin;
    found.bytes += size;
    std::optional<Shareable> memory = Shareable::of(at);
    if (end && (begin != end || !memory || memory->kind() == ShareableKind::kPool))
      throw Error(ErrorCode::kSystem, what + ": the array goes beyond its memory");
    if (!memory) break;
    found.pieces.push_back({std::move(*memory), size});
    at = end = begin + size;
  } while (end < pointer + bytes);
  return found;
}

void allow_access(Device device, Pointer begin, std::size_t bytes, const std::string& what) {
  const MemoryAccess access = access_of(device);
  Driver::get().check(Driver::get().memory_access(begin, bytes, &access, 1), what);
}

MappedRange::MappedRange(const Gpu& gpu, const std::vector<MappedPiece>& pieces,
                         const std::string& what)
    : context_(gpu.context()) {
  const Current current(context_);
  const Driver& cuda = Driver::get();
  std::size_t bytes = 0;
  for (const MappedPiece& piece : pieces) bytes += piece.bytes;
  cuda.check(cuda.addresses_reserve(&begin_, bytes, 0, 0, 0), what);
  reserved_ = bytes;
  try {
    Pointer at = begin_;
    for (const MappedPiece& piece : pieces) {
      cuda.check(cuda.memory_map(at, piece.bytes, 0, piece.memory.handle(), 0), what);
      mapped_.push_back(piece.bytes);
      at += piece.bytes;
    }
    allow_access(gpu.device(), begin_, bytes, what);
  } catch (const Error&) {
    unmap();
    throw;
  }
}

MappedRange::~MappedRange() {
  await_idle(context_, kUnmapPatience);
  if (const Closing gpu(context_); gpu) unmap();
}

void MappedRange::unmap() {
  const Driver& cuda = Driver::get();
  Pointer at = begin_;
  for (const std::size_t bytes : mapped_) {
    cuda.memory_unmap(at, bytes);
    at += bytes;
  }
  cuda.addresses_free(begin_, reserved_);
}

}  // namespace railgauge::cuda
