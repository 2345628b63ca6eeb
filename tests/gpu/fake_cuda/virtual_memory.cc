// SPDX-License-Identifier: Apache-2.0
// Memory of cuMemCreate: files as well, mapped into ranges of addresses. A descriptor of it is one
// of its file.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <vector>

#include "mappings.h"

namespace railgauge::cuda {

namespace {

constexpr std::size_t kGranularity = 64 << 10;  // 2 MiB on a GPU
constexpr int kDescriptor = 1;                  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
constexpr int kFabric = 8;                      // CU_MEM_HANDLE_TYPE_FABRIC
constexpr int kNothing = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;  // reserved addresses

// An allocation, or an imported one.
struct Physical {
  int file;
  std::size_t size;
  MemoryProperties properties;
  Context context;  // null: another process's
  int holders;      // handles and mappings
};

std::map<MemoryHandle, Physical> allocations;
std::map<Pointer, std::size_t> reserved;
MemoryHandle last_allocation = 0;

// The mappings that fill a range, which begin and end with it; nothing where there are none.
std::vector<Mappings::iterator> mappings_of(Pointer begin, std::size_t size) {
  std::vector<Mappings::iterator> found;
  for (Pointer at = begin; at < begin + size; at += found.back()->second.size) {
    found.push_back(mappings.find(at));
    if (found.back() == mappings.end() || !found.back()->second.allocation) return {};
    if (at + found.back()->second.size > begin + size) return {};
  }
  return found;
}

void drop(MemoryHandle handle) {
  const auto found = allocations.find(handle);
  if (--found->second.holders) return;
  const Physical& physical = found->second;
  if (physical.context) give_back(physical.context, physical.file, physical.size);
  if (!physical.context) close(physical.file);
  allocations.erase(found);
}

MemoryHandle keep(const Physical& physical) {
  allocations[++last_allocation] = physical;
  return last_allocation;
}

}  // namespace

Allocated allocated(MemoryHandle handle) {
  const Physical& physical = allocations.at(handle);
  return {physical.file, physical.size, physical.context};
}

MemoryHandle keep_file(int file, std::size_t size, int handle_types) {
  MemoryProperties properties{};
  properties.handle_types = handle_types;
  return keep({file, size, properties, nullptr, 1});
}

extern "C" {

Result cuMemCreate(MemoryHandle* handle, std::size_t size, const MemoryProperties* properties,
                   unsigned long long) {
  RAILGAUGE_FAULT(properties->location.id);
  const Context context = context_of(properties->location.id);
  if (!context || !size || size % kGranularity) return kInvalidValue;
  if (properties->handle_types & kFabric) {
    if (const Result told = fabric_allowed(properties->location.id)) return told;
  }
  const std::lock_guard lock(mutex);
  const int file = take_file(context, size);
  if (file < 0) return kOutOfMemory;
  *handle = keep({file, size, *properties, context, 1});
  return kSuccess;
}

Result cuMemRelease(MemoryHandle handle) {
  const std::lock_guard lock(mutex);
  if (!allocations.contains(handle)) return kInvalidValue;
  drop(handle);
  return kSuccess;
}

Result cuMemRetainAllocationHandle(MemoryHandle* handle, void* pointer) {
  const std::lock_guard lock(mutex);
  const auto found = mapping_at(reinterpret_cast<Pointer>(pointer));
  if (found == mappings.end() || !found->second.allocation) return kInvalidValue;
  *handle = found->second.allocation;
  ++allocations.at(*handle).holders;
  return kSuccess;
}

Result cuMemGetAllocationPropertiesFromHandle(MemoryProperties* properties, MemoryHandle handle) {
  const std::lock_guard lock(mutex);
  *properties = allocations.at(handle).properties;
  return kSuccess;
}

Result cuMemGetAllocationGranularity(std::size_t* bytes, const MemoryProperties*, int) {
  *bytes = kGranularity;
  return kSuccess;
}

Result cuMemExportToShareableHandle(void* exported, MemoryHandle handle, int type,
                                    unsigned long long) {
  RAILGAUGE_FAULT();
  const std::lock_guard lock(mutex);
  const Physical& physical = allocations.at(handle);
  if (!(physical.properties.handle_types & type)) return kInvalidValue;
  if (type == kFabric) return export_to_fabric(exported, physical.file);
  *static_cast<int*>(exported) = fcntl(physical.file, F_DUPFD_CLOEXEC, 0);
  return kSuccess;
}

Result cuMemImportFromShareableHandle(MemoryHandle* handle, void* exported, int type) {
  RAILGAUGE_FAULT();
  struct stat status;
  int file = -1;
  if (type == kFabric) {
    if (const Result told = import_from_fabric(exported, &file)) return told;
  } else {
    const int given = static_cast<int>(reinterpret_cast<std::intptr_t>(exported));
    file = fcntl(given, F_DUPFD_CLOEXEC, 0);
  }
  if (file < 0 || fstat(file, &status)) return kInvalidValue;
  const std::lock_guard lock(mutex);
  *handle = keep({file, static_cast<std::size_t>(status.st_size), {}, nullptr, 1});
  allocations[*handle].properties.handle_types = type;
  return kSuccess;
}

Result cuMemAddressReserve(Pointer* begin, std::size_t size, std::size_t, Pointer,
                           unsigned long long) {
  RAILGAUGE_FAULT();
  void* at = mmap(nullptr, size, PROT_NONE, kNothing, -1, 0);
  if (!size || size % kGranularity || at == MAP_FAILED) return kInvalidValue;
  *begin = reinterpret_cast<Pointer>(at);
  const std::lock_guard lock(mutex);
  reserved[*begin] = size;
  return kSuccess;
}

Result cuMemAddressFree(Pointer begin, std::size_t size) {
  const std::lock_guard lock(mutex);
  const auto found = reserved.find(begin);
  if (found == reserved.end() || found->second != size) return kInvalidValue;
  munmap(address(begin), size);
  reserved.erase(found);
  return kSuccess;
}

// Nothing can be read or written there until cuMemSetAccess.
Result cuMemMap(Pointer at, std::size_t size, std::size_t offset, MemoryHandle handle,
                unsigned long long) {
  RAILGAUGE_FAULT();
  const std::lock_guard lock(mutex);
  auto range = reserved.upper_bound(at);
  if (range == reserved.begin() || at + size > (--range)->first + range->second || offset)
    return kInvalidValue;
  Physical& physical = allocations.at(handle);
  if (size > physical.size || size % kGranularity) return kInvalidValue;
  if (mmap(address(at), size, PROT_NONE, MAP_SHARED | MAP_FIXED, physical.file, 0) == MAP_FAILED)
    return kOutOfMemory;
  ++physical.holders;
  mappings[at] = {size, physical.file, physical.context, handle};
  return kSuccess;
}

// Like a GPU's driver, it does not wait for what still uses the memory.
Result cuMemUnmap(Pointer begin, std::size_t size) {
  const std::lock_guard lock(mutex);
  for (const auto one : mappings_of(begin, size)) {
    mmap(address(one->first), one->second.size, PROT_NONE, kNothing | MAP_FIXED, -1, 0);
    forget_multicast(one->first);
    drop(one->second.allocation);
    mappings.erase(one);
  }
  return kSuccess;
}

Result cuMemSetAccess(Pointer begin, std::size_t size, const MemoryAccess* access,
                      std::size_t count) {
  RAILGAUGE_FAULT();
  const std::lock_guard lock(mutex);
  const auto found = mappings_of(begin, size);
  if (found.empty()) return kInvalidValue;
  mprotect(address(begin), size, PROT_READ | PROT_WRITE);
  for (const auto one : found) {
    for (std::size_t i = 0; i < count; ++i) one->second.devices.insert(access[i].location.id);
  }
  return kSuccess;
}

// For tests: whether a GPU has access to memory of cuMemMap.
Result cuMemGetAccess(unsigned long long* flags, const MemoryLocation* location, Pointer pointer) {
  const std::lock_guard lock(mutex);
  const auto found = mapping_at(pointer);
  if (found == mappings.end() || !found->second.allocation) return kInvalidValue;
  *flags = found->second.devices.contains(location->id) ? 3 : 0;
  return kSuccess;
}

}  // extern "C"

}  // namespace railgauge::cuda
