// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/shareable.h"

#include <utility>

namespace railgauge::cuda {

namespace {

constexpr int kOnDevice = 1;       // CU_MEM_LOCATION_TYPE_DEVICE
constexpr int kReadWrite = 3;      // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
constexpr int kOfCudaMalloc = 10;  // CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE
constexpr int kPoolOf = 17;        // CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE

}  // namespace

std::optional<Shareable> Shareable::of(Pointer pointer) {
  const Driver& cuda = Driver::get();
  MemoryHandle handle = 0, legacy = 0;
  if (!cuda.pointer_attribute(&legacy, kOfCudaMalloc, pointer) && legacy) return {};
  if (!cuda.pointer_attribute(&handle, kPoolOf, pointer) && handle)
    return Shareable(ShareableKind::kPool, handle, false);
  if (cuda.memory_retain(&handle, reinterpret_cast<void*>(pointer))) return {};
  return Shareable(handle);
}

Shareable Shareable::imported(ShareableKind kind, const Fd& exported, const std::string& what) {
  const Driver& cuda = Driver::get();
  void* descriptor = reinterpret_cast<void*>(static_cast<std::intptr_t>(exported.get()));
  MemoryHandle handle = 0;
  cuda.check(kind == ShareableKind::kPool ? cuda.pool_import(&handle, descriptor, kAsDescriptor, 0)
                                          : cuda.memory_import(&handle, descriptor, kAsDescriptor),
             what);
  return Shareable(kind, handle, true);
}

Shareable Shareable::imported(const IpcHandle& fabric, const std::string& what) {
  const Driver& cuda = Driver::get();
  IpcHandle given = fabric;  // CUDA takes it as one that may change
  MemoryHandle handle = 0;
  cuda.check(cuda.memory_import(&handle, &given, kAsFabricHandle), what + kWhatFabricTakes);
  return Shareable(handle);
}

Shareable::Shareable(Shareable&& other) noexcept
    : kind_(other.kind_), handle_(other.handle_), held_(std::exchange(other.held_, false)) {}

Shareable::~Shareable() {
  if (!held_) return;
  const Driver& cuda = Driver::get();
  kind_ == ShareableKind::kPool ? cuda.pool_destroy(handle_) : cuda.memory_release(handle_);
}

bool Shareable::can_be_exported(int as) const {
  if (kind_ == ShareableKind::kPool) {  // the driver does not say
    if (as != kAsDescriptor) return false;
    int descriptor = -1;
    const bool can = !Driver::get().pool_export(&descriptor, handle_, kAsDescriptor, 0);
    return Fd(descriptor).open() && can;
  }
  MemoryProperties properties{};
  return !Driver::get().memory_properties(&properties, handle_) && (properties.handle_types & as);
}

Fd Shareable::exported() const {
  const Driver& cuda = Driver::get();
  int descriptor = -1;
  cuda.check(kind_ == ShareableKind::kPool
                 ? cuda.pool_export(&descriptor, handle_, kAsDescriptor, 0)
                 : cuda.memory_export(&descriptor, handle_, kAsDescriptor, 0),
             "exporting memory of a GPU");
  return Fd(descriptor);
}

IpcHandle Shareable::fabric_handle() const {
  const Driver& cuda = Driver::get();
  IpcHandle exported{};
  cuda.check(cuda.memory_export(&exported, handle_, kAsFabricHandle, 0),
             std::string("exporting memory of a GPU") + kWhatFabricTakes);
  return exported;
}

MemoryAccess access_of(Device device) { return {{kOnDevice, device}, kReadWrite}; }

}  // namespace railgauge::cuda
