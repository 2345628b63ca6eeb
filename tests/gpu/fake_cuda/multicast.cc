// SPDX-License-Identifier: Apache-2.0
// Multicast objects: a file each, which begins with the team of GPUs, and whose mappings show it.
// Kernels ask for the places that an address in one stands for. What a GPU's driver would wait for,
// or what would be an error on its links, is one here at once.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "collectives/native/kernels/ptx.cuh"
#include "mappings.h"

namespace railgauge {

namespace cuda {

namespace {

constexpr std::size_t kGranularity = 64 << 10;
constexpr unsigned kMost = 8;
constexpr std::uint64_t kMark = 0x6d756c7469636173;  // a team begins with it

struct Member {
  char bus_id[16];
  std::atomic<bool> is_bound;
  pid_t process;
  int file;  // there, of the memory that is bound
};
struct Team {
  std::uint64_t mark;
  unsigned devices;
  std::size_t bytes;
  std::atomic<unsigned> added;
  Member member[kMost];
};

// A team's file, mapped while this lives.
class Shown {
 public:
  explicit Shown(int file)
      : team_(static_cast<Team*>(
            mmap(nullptr, sizeof(Team), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0))) {}
  ~Shown() { munmap(team_, sizeof(Team)); }
  Shown(const Shown&) = delete;
  Shown& operator=(const Shown&) = delete;

  Team* operator->() const { return team_; }
  // That of a GPU; null: it has not been added.
  Member* member(Device device) const {
    char bus_id[sizeof Member::bus_id];
    cuDeviceGetPCIBusId(bus_id, sizeof bus_id, device);
    for (Member& one : team_->member) {
      if (!std::strcmp(one.bus_id, bus_id)) return &one;
    }
    return nullptr;
  }

 private:
  Team* const team_;
};

// By mapping of an object, that of each member's memory.
std::map<Pointer, std::vector<char*>> memories;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "multicast: %s\n", what);
  std::abort();
}

char* mapped(const Member& member, std::size_t bytes) {
  if (!member.is_bound) fail("an access where not all GPUs have bound memory");
  const std::string path =
      "/proc/" + std::to_string(member.process) + "/fd/" + std::to_string(member.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (at == MAP_FAILED) fail("memory that is bound is gone");
  return static_cast<char*>(at);
}

}  // namespace

void forget_multicast(Pointer begin) {
  const auto found = memories.find(begin);
  if (found == memories.end()) return;
  const std::size_t bytes = mappings.at(begin).size;
  for (char* const one : found->second) munmap(one, bytes);
  memories.erase(found);
}

extern "C" {

Result cuMulticastCreate(MemoryHandle* handle, const MulticastProperties* properties) {
  RAILGAUGE_FAULT();
  const auto& [devices, bytes, handle_types, flags] = *properties;
  if (!bytes || bytes % kGranularity || !devices || devices > kMost || flags) return kInvalidValue;
  const int file = memfd_create("fake-cuda", MFD_CLOEXEC);
  if (ftruncate(file, bytes)) return kOutOfMemory;
  const Shown team(file);
  team->mark = kMark;
  team->devices = devices;
  team->bytes = bytes;
  const std::lock_guard lock(mutex);
  *handle = keep_file(file, bytes, static_cast<int>(handle_types));
  return kSuccess;
}

Result cuMulticastAddDevice(MemoryHandle handle, Device device) {
  RAILGAUGE_FAULT(device);
  const std::lock_guard lock(mutex);
  const Shown team(allocated(handle).file);
  if (team.member(device) || team->added == team->devices) return kInvalidValue;
  Member& member = team->member[team->added++];
  return cuDeviceGetPCIBusId(member.bus_id, sizeof member.bus_id, device);
}

Result cuMulticastBindMem(MemoryHandle handle, std::size_t at, MemoryHandle memory,
                          std::size_t memory_at, std::size_t bytes, unsigned long long flags) {
  RAILGAUGE_FAULT();
  const std::lock_guard lock(mutex);
  const Allocated bound = allocated(memory);
  const Shown team(allocated(handle).file);
  if (team->added < team->devices) return kIllegalState;  // a driver would wait
  if (at || memory_at || flags || bytes != team->bytes || bytes > bound.size || !bound.context)
    return kInvalidValue;
  Member* const member = team.member(device_of(bound.context));
  if (!member || member->is_bound) return kInvalidValue;
  member->process = getpid();
  member->file = fcntl(bound.file, F_DUPFD_CLOEXEC, 0);
  member->is_bound = true;
  return kSuccess;
}

Result cuMulticastUnbind(MemoryHandle handle, Device device, std::size_t at, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  const Shown team(allocated(handle).file);
  Member* const member = team.member(device);
  if (!member || !member->is_bound || at || bytes != team->bytes) return kInvalidValue;
  member->is_bound = false;
  close(member->file);
  return kSuccess;
}

}  // extern "C"

}  // namespace cuda

std::vector<char*> gpu::places_of(const void* multicast) {
  using namespace cuda;
  const auto pointer = reinterpret_cast<Pointer>(multicast);
  const std::lock_guard lock(mutex);
  const auto found = mapping_at(pointer);
  if (found == mappings.end() || pointer % 16) fail("no multicast address");
  const auto& team = *static_cast<const Team*>(address(found->first));
  if (team.mark != kMark) fail("no multicast address");
  std::vector<char*>& all = memories[found->first];
  if (all.empty()) {
    for (unsigned i = 0; i < team.devices; ++i) all.push_back(mapped(team.member[i], team.bytes));
  }
  std::vector<char*> places = all;
  for (char*& one : places) one += pointer - found->first;
  return places;
}

}  // namespace railgauge
