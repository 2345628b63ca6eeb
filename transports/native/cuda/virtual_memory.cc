// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/virtual_memory.h"

#include <cstdint>
#include <utility>

#include "transports/native/cuda/waiting.h"

namespace railgauge::cuda {

namespace {

constexpr int kAsDescriptor = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
constexpr int kPinned = 1;        // CU_MEM_ALLOCATION_TYPE_PINNED
constexpr int kOnDevice = 1;      // CU_MEM_LOCATION_TYPE_DEVICE
constexpr int kMinimum = 0;       // CU_MEM_ALLOC_GRANULARITY_MINIMUM
constexpr int kRdmaOfVirtualMemory =
    110;                       // CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED
constexpr int kReadWrite = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
// s: what a program has put on its streams may take long; a GPU that hangs is known before.
constexpr double kUnmapPatience = 60;

}  // namespace

std::optional<Allocation> Allocation::of(Pointer pointer) {
  MemoryHandle handle;
  if (Driver::get().memory_retain(&handle, reinterpret_cast<void*>(pointer))) return {};
  return Allocation(handle);
}

Allocation Allocation::imported(const Fd& exported, const std::string& what) {
  MemoryHandle handle;
  void* descriptor = reinterpret_cast<void*>(static_cast<std::intptr_t>(exported.get()));
  Driver::get().check(Driver::get().memory_import(&handle, descriptor, kAsDescriptor), what);
  return Allocation(handle);
}

Allocation::Allocation(Allocation&& other) noexcept : handle_(std::exchange(other.handle_, 0)) {}

Allocation::~Allocation() {
  if (handle_) Driver::get().memory_release(handle_);
}

bool Allocation::can_be_exported() const {
  MemoryProperties properties{};
  return !Driver::get().memory_properties(&properties, handle_) &&
         (properties.handle_types & kAsDescriptor);
}

Fd Allocation::exported() const {
  int descriptor = -1;
  Driver::get().check(Driver::get().memory_export(&descriptor, handle_, kAsDescriptor, 0),
                      "exporting memory of a GPU");
  return Fd(descriptor);
}

MappedPiece created(const Gpu& gpu, std::size_t bytes, const std::string& what) {
  const Driver& cuda = Driver::get();
  MemoryProperties properties{};
  properties.type = kPinned;
  properties.handle_types = kAsDescriptor;
  properties.location = {kOnDevice, gpu.device()};
  properties.gpu_direct_rdma = gpu.attribute(kRdmaOfVirtualMemory) != 0;
  std::size_t unit = 0;
  cuda.check(cuda.memory_granularity(&unit, &properties, kMinimum), what);
  const std::size_t rounded = (bytes + unit - 1) / unit * unit;
  MemoryHandle handle;
  cuda.check(cuda.memory_create(&handle, rounded, &properties, 0), what);
  return {Allocation(handle), rounded};
}

Backing backing_of(Pointer pointer, std::size_t bytes, const std::string& what) {
  const Driver& cuda = Driver::get();
  Backing found{};
  for (Pointer at = pointer; at == pointer || at < pointer + bytes;) {
    Pointer begin = 0;
    std::size_t size = 0;
    cuda.check(cuda.memory_range(&begin, &size, at), what);
    std::optional<Allocation> allocation = Allocation::of(at);
    if (at == pointer) found.begin = begin;
    if (!allocation && at != pointer)
      throw Error(ErrorCode::kSystem, what + ": the array goes beyond its memory");
    found.bytes += size;
    if (!allocation) break;
    found.pieces.push_back({std::move(*allocation), size});
    at = begin + size;
  }
  return found;
}

void allow_access(Device device, Pointer begin, std::size_t bytes, const std::string& what) {
  const MemoryAccess access{{kOnDevice, device}, kReadWrite};
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
      cuda.check(cuda.memory_map(at, piece.bytes, 0, piece.allocation.handle(), 0), what);
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
