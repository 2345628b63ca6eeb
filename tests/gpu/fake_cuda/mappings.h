// SPDX-License-Identifier: Apache-2.0
// What is mapped where: memory of cuMemAlloc and cuIpcOpenMemHandle (memory.cc), of cuMemMap
// (virtual_memory.cc), multicast objects among them (multicast.cc), and of pools (pools.cc).
#pragma once

#include <map>
#include <mutex>
#include <set>

#include "fake.h"

namespace railgauge::cuda {

struct Mapping {
  std::size_t size;
  int file;                     // -1: another process's
  Context context;              // null likewise
  MemoryHandle allocation = 0;  // of cuMemMap
  std::set<int> devices = {};   // that have access to it, likewise
  MemoryHandle pool = 0;        // of cuMemAllocFromPoolAsync
};
using Mappings = std::map<Pointer, Mapping>;

extern std::mutex mutex;  // of all that follows
extern Mappings mappings;

// The mapping that holds an address, or the end.
Mappings::iterator mapping_at(Pointer pointer);
// A file for memory of a GPU, whose first part is not zero; -1: that GPU has not so much left.
int take_file(Context context, std::size_t size);
void give_back(Context context, int file, std::size_t size);

// Of memory with fabric handles, which take an NVLink domain, NVML_FABRIC: whether a GPU has it, a
// handle of a file, and the file of one.
Result fabric_allowed(Device device);
Result export_to_fabric(void* handle, int file);
Result import_from_fabric(const void* handle, int* file);
// Memory of cuMemCreate: its file and size, and its GPU, null: another process's.
struct Allocated {
  int file;
  std::size_t size;
  Context context;
};
Allocated allocated(MemoryHandle handle);
// A handle of a file that stands for something else, which takes the file.
MemoryHandle keep_file(int file, std::size_t size, int handle_types);
// A mapping of a multicast object is gone, if it was one.
void forget_multicast(Pointer begin);

inline void* address(Pointer pointer) { return reinterpret_cast<void*>(pointer); }

}  // namespace railgauge::cuda
