// SPDX-License-Identifier: Apache-2.0
// Memory of the GPUs: files without a name, which other processes open by this one's descriptors;
// nothing is left of them when it dies.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "mappings.h"

namespace railgauge::cuda {

namespace {

constexpr std::size_t kMemory = std::size_t(4) << 30;
constexpr std::size_t kFilled = 1 << 20;  // so much of new memory is not zero, as on a GPU

struct Told {  // what an IpcHandle holds
  pid_t process;
  int file;
  std::size_t size;
};
static_assert(sizeof(Told) <= sizeof(IpcHandle));

std::map<Context, std::size_t> used;
std::map<void*, std::size_t> pinned;  // by cuMemHostAlloc
std::set<void*> registered;

std::size_t limit() {
  const std::string bytes = setting("FAKE_CUDA_BYTES");
  return bytes.empty() ? kMemory : std::stoull(bytes);
}

Result map(int file, std::size_t size, Pointer* pointer) {
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) return kOutOfMemory;
  *pointer = reinterpret_cast<Pointer>(at);
  return kSuccess;
}

}  // namespace

std::mutex mutex;
Mappings mappings;

Mappings::iterator mapping_at(Pointer pointer) {
  const auto found = mappings.upper_bound(pointer);
  if (found == mappings.begin()) return mappings.end();
  const auto before = std::prev(found);
  return pointer - before->first < before->second.size ? before : mappings.end();
}

int take_file(Context context, std::size_t size) {
  if (size > limit() - std::min(limit(), used[context])) return -1;
  const int file = memfd_create("fake-cuda", MFD_CLOEXEC);
  const std::string filled(std::min(size, kFilled), '\xa5');
  if (file < 0 || ftruncate(file, size) ||
      pwrite(file, filled.data(), filled.size(), 0) != static_cast<ssize_t>(filled.size())) {
    close(file);
    return -1;
  }
  used[context] += size;
  return file;
}

void give_back(Context context, int file, std::size_t size) {
  used[context] -= size;
  close(file);
}

extern "C" {

Result cuMemAlloc_v2(Pointer* pointer, std::size_t size) {
  RAILGAUGE_FAULT();
  const Context context = current_context();
  if (!context) return kInvalidContext;
  if (!size) return kInvalidValue;
  const std::lock_guard lock(mutex);
  const int file = take_file(context, size);
  if (file < 0) return kOutOfMemory;
  if (map(file, size, pointer)) {
    give_back(context, file, size);
    return kOutOfMemory;
  }
  mappings[*pointer] = {size, file, context};
  return kSuccess;
}

Result cuMemFree_v2(Pointer pointer) {
  std::unique_lock lock(mutex);
  const auto found = mappings.find(pointer);
  if (found == mappings.end() || found->second.allocation) return kInvalidValue;
  if (!found->second.context && !found->second.pool) return kInvalidValue;
  const Mapping mapping = found->second;
  mappings.erase(found);
  lock.unlock();
  wait_idle(mapping.context ? mapping.context : current_context());
  lock.lock();
  munmap(address(pointer), mapping.size);
  if (!mapping.pool) give_back(mapping.context, mapping.file, mapping.size);
  return kSuccess;
}

Result cuMemGetAddressRange_v2(Pointer* begin, std::size_t* size, Pointer pointer) {
  RAILGAUGE_FAULT();
  const std::lock_guard lock(mutex);
  const auto found = mapping_at(pointer);
  if (found == mappings.end()) return kInvalidValue;
  *begin = found->first;
  *size = found->second.size;
  return kSuccess;
}

Result cuMemGetInfo_v2(std::size_t* left, std::size_t* all) {
  const std::lock_guard lock(mutex);
  *all = limit();
  *left = *all - std::min(*all, used[current_context()]);
  return kSuccess;
}

Result cuMemsetD8_v2(Pointer pointer, unsigned char value, std::size_t size) {
  RAILGAUGE_FAULT();
  const std::lock_guard lock(mutex);
  const std::size_t page = sysconf(_SC_PAGESIZE);
  std::size_t zeroed = 0;
  if (!value && mappings.contains(pointer)) {  // without taking memory
    zeroed = size / page * page;
    madvise(address(pointer), zeroed, MADV_REMOVE);
  }
  std::memset(address(pointer + zeroed), value, size - zeroed);
  return kSuccess;
}

Result cuMemcpyHtoD_v2(Pointer to, const void* from, std::size_t size) {
  RAILGAUGE_FAULT();
  if (const Result result = wait_default()) return result;
  std::memcpy(address(to), from, size);
  return kSuccess;
}

Result cuMemcpyDtoH_v2(void* to, Pointer from, std::size_t size) {
  const Result told = fault(__func__);
  if (told && told != kCorrupt) return told;
  if (const Result result = wait_default()) return result;
  std::memcpy(to, address(from), size);
  if (told == kCorrupt) static_cast<unsigned char*>(to)[size / 2] ^= 1;
  return kSuccess;
}

Result cuMemcpyAsync(Pointer to, Pointer from, std::size_t size, Stream stream) {
  RAILGAUGE_FAULT();
  return put(stream, [=] { std::memcpy(address(to), address(from), size); });
}

Result cuMemcpyPeerAsync(Pointer to, Context, Pointer from, Context, std::size_t size,
                         Stream stream) {
  return cuMemcpyAsync(to, from, size, stream);
}

Result cuMemsetD8Async(Pointer pointer, unsigned char value, std::size_t size, Stream stream) {
  return put(stream, [=] { std::memset(address(pointer), value, size); });
}

// The descriptor is one of a file: no kernel takes it for a DMA-BUF.
Result cuMemGetHandleForAddressRange(void* handle, Pointer pointer, std::size_t size, int,
                                     unsigned long long) {
  RAILGAUGE_FAULT();
  const std::size_t page = sysconf(_SC_PAGESIZE);
  const std::lock_guard lock(mutex);
  auto found = mappings.upper_bound(pointer);
  if (pointer % page || size % page || found == mappings.begin()) return kInvalidValue;
  --found;
  const std::size_t pages = (found->second.size + page - 1) / page * page;
  if (pointer + size > found->first + pages) return kInvalidValue;
  *static_cast<int*>(handle) = fcntl(found->second.file, F_DUPFD_CLOEXEC, 0);
  return kSuccess;
}

Result cuIpcGetMemHandle(IpcHandle* handle, Pointer pointer) {
  RAILGAUGE_FAULT();
  const std::lock_guard lock(mutex);
  const auto found = mappings.find(pointer);
  if (found == mappings.end() || !found->second.context) return kInvalidValue;
  if (found->second.allocation || found->second.pool) return kInvalidValue;
  const Told told{getpid(), found->second.file, found->second.size};
  *handle = {};
  std::memcpy(handle->bytes, &told, sizeof told);
  return kSuccess;
}

Result cuIpcOpenMemHandle_v2(Pointer* pointer, IpcHandle handle, unsigned) {
  RAILGAUGE_FAULT();
  Told told;
  std::memcpy(&told, handle.bytes, sizeof told);
  if (told.process == getpid()) return kInvalidContext;
  const std::string path =
      "/proc/" + std::to_string(told.process) + "/fd/" + std::to_string(told.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return kInvalidContext;
  const Result result = map(file, told.size, pointer);
  close(file);
  if (result) return result;
  const std::lock_guard lock(mutex);
  mappings[*pointer] = {told.size, -1, nullptr};
  return kSuccess;
}

Result cuIpcCloseMemHandle(Pointer pointer) {
  if (const Context context = current_context()) wait_idle(context);
  const std::lock_guard lock(mutex);
  const auto found = mappings.find(pointer);
  if (found == mappings.end() || found->second.context) return kInvalidValue;
  if (found->second.allocation || found->second.pool) return kInvalidValue;
  munmap(address(pointer), found->second.size);
  mappings.erase(found);
  return kSuccess;
}

Result cuMemHostAlloc(void** pointer, std::size_t size, unsigned) {
  RAILGAUGE_FAULT();
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return kOutOfMemory;
  *pointer = at;
  const std::lock_guard lock(mutex);
  pinned[at] = size;
  return kSuccess;
}

Result cuMemFreeHost(void* pointer) {
  if (const Context context = current_context()) wait_idle(context);
  const std::lock_guard lock(mutex);
  const auto found = pinned.find(pointer);
  if (found == pinned.end()) return kInvalidValue;
  munmap(pointer, found->second);
  pinned.erase(found);
  return kSuccess;
}

Result cuMemHostRegister_v2(void* pointer, std::size_t, unsigned) {
  RAILGAUGE_FAULT();
  const std::lock_guard lock(mutex);
  return registered.insert(pointer).second ? kSuccess : kAlreadyRegistered;
}

Result cuMemHostUnregister(void* pointer) {
  const std::lock_guard lock(mutex);
  return registered.erase(pointer) ? kSuccess : kNotRegistered;
}

Result cuMemHostGetDevicePointer_v2(Pointer* on_gpu, void* pointer, unsigned) {
  *on_gpu = reinterpret_cast<Pointer>(pointer);
  return kSuccess;
}

}  // extern "C"

}  // namespace railgauge::cuda
