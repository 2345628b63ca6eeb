// SPDX-License-Identifier: Apache-2.0
// Pools of memory (cuMemAllocFromPoolAsync): a file each, of which allocations are parts. Nothing
// is used twice.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <set>

#include "mappings.h"

namespace railgauge::cuda {

namespace {

constexpr int kOfCudaMalloc = 10;  // CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE
constexpr int kPoolOf = 17;        // CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE
constexpr int kDescriptor = 1;     // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
constexpr std::size_t kAligned = 64 << 10;

struct Pool {
  int file;
  int handle_types;
  std::size_t used;
  Context context;  // null: another process's
  std::set<int> devices;
};

struct Part {  // what another process needs of an allocation
  std::size_t at, size;
};
static_assert(sizeof(Part) <= sizeof(IpcHandle));

struct PoolProperties {  // CUmemPoolProps
  int allocation_type, handle_types;
  MemoryLocation location;
};

std::map<MemoryHandle, Pool> pools;
std::map<Pointer, Part> parts;
MemoryHandle last_pool = 0;

Result map_part(const Pool& pool, const Part& part, Pointer* pointer) {
  const int allowed = pool.devices.empty() ? PROT_NONE : PROT_READ | PROT_WRITE;
  void* at = mmap(nullptr, part.size, allowed, MAP_SHARED, pool.file, part.at);
  if (at == MAP_FAILED) return kOutOfMemory;
  *pointer = reinterpret_cast<Pointer>(at);
  return kSuccess;
}

}  // namespace

extern "C" {

Result cuPointerGetAttribute(void* value, int attribute, Pointer pointer) {
  const std::lock_guard lock(mutex);
  const auto found = mapping_at(pointer);
  if (attribute == kOfCudaMalloc) {
    *static_cast<bool*>(value) = found == mappings.end();
    return kSuccess;
  }
  if (attribute != kPoolOf || found == mappings.end()) return kInvalidValue;
  *static_cast<MemoryHandle*>(value) = found->second.pool;
  return kSuccess;
}

// For tests, as the following.
Result cuMemPoolCreate(MemoryHandle* pool, const PoolProperties* properties) {
  const std::lock_guard lock(mutex);
  *pool = ++last_pool;
  const Device device = properties->location.id;
  pools[*pool] = {memfd_create("fake-cuda", MFD_CLOEXEC),
                  properties->handle_types,
                  0,
                  context_of(device),
                  {device}};
  return kSuccess;
}

Result cuMemAllocFromPoolAsync(Pointer* pointer, std::size_t size, MemoryHandle handle, Stream) {
  const std::lock_guard lock(mutex);
  Pool& pool = pools.at(handle);
  const Part part{pool.used, size};
  pool.used += (size + kAligned - 1) / kAligned * kAligned;
  if (ftruncate(pool.file, pool.used) || map_part(pool, part, pointer)) return kOutOfMemory;
  parts[*pointer] = part;
  mappings[*pointer] = {size, -1, pool.context, 0, {}, handle};
  return kSuccess;
}

Result cuMemPoolDestroy(MemoryHandle pool) {
  const std::lock_guard lock(mutex);
  if (!pools.contains(pool)) return kInvalidValue;
  close(pools[pool].file);
  pools.erase(pool);
  return kSuccess;
}

Result cuMemPoolSetAccess(MemoryHandle pool, const MemoryAccess* access, std::size_t count) {
  RAILGAUGE_FAULT();
  const std::lock_guard lock(mutex);
  for (std::size_t i = 0; i < count; ++i) pools.at(pool).devices.insert(access[i].location.id);
  return kSuccess;
}

// For tests: whether a GPU has access.
Result cuMemPoolGetAccess(int* flags, MemoryHandle pool, const MemoryLocation* location) {
  const std::lock_guard lock(mutex);
  *flags = pools.at(pool).devices.contains(location->id) ? 3 : 0;
  return kSuccess;
}

Result cuMemPoolExportToShareableHandle(void* exported, MemoryHandle pool, int type,
                                        unsigned long long) {
  RAILGAUGE_FAULT();
  const std::lock_guard lock(mutex);
  if (type != kDescriptor || !(pools.at(pool).handle_types & type)) return kInvalidValue;
  *static_cast<int*>(exported) = fcntl(pools.at(pool).file, F_DUPFD_CLOEXEC, 0);
  return kSuccess;
}

Result cuMemPoolImportFromShareableHandle(MemoryHandle* pool, void* exported, int type,
                                          unsigned long long) {
  RAILGAUGE_FAULT();
  const int given = static_cast<int>(reinterpret_cast<std::intptr_t>(exported));
  const int file = fcntl(given, F_DUPFD_CLOEXEC, 0);
  if (type != kDescriptor || file < 0) return kInvalidValue;
  const std::lock_guard lock(mutex);
  *pool = ++last_pool;
  pools[*pool] = {file, type, 0, nullptr, {}};
  return kSuccess;
}

Result cuMemPoolExportPointer(IpcHandle* handle, Pointer pointer) {
  const std::lock_guard lock(mutex);
  if (!parts.contains(pointer)) return kInvalidValue;
  *handle = {};
  std::memcpy(handle->bytes, &parts[pointer], sizeof(Part));
  return kSuccess;
}

Result cuMemPoolImportPointer(Pointer* pointer, MemoryHandle pool, const IpcHandle* handle) {
  RAILGAUGE_FAULT();
  const std::lock_guard lock(mutex);
  Part part;
  std::memcpy(&part, handle->bytes, sizeof part);
  if (const Result result = map_part(pools.at(pool), part, pointer)) return result;
  mappings[*pointer] = {part.size, -1, nullptr, 0, {}, pool};
  return kSuccess;
}

}  // extern "C"

}  // namespace railgauge::cuda
