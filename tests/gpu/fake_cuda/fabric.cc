// SPDX-License-Identifier: Apache-2.0
// Fabric handles: what a process of any simulated host needs to open a file of this one's.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "mappings.h"

namespace railgauge::cuda {

namespace {

constexpr const char* kDomain = "NVML_FABRIC";

struct Exported {  // what a CUmemFabricHandle holds
  pid_t process;
  int file;
  std::size_t domain;  // a hash
};
static_assert(sizeof(Exported) <= sizeof(IpcHandle));

std::size_t domain() { return std::hash<std::string>()(setting(kDomain)); }

}  // namespace

Result fabric_allowed(Device device) {
  if (const Result told = fault("cuMemCreate:fabric", device)) return told;
  return setting(kDomain).empty() ? kNotPermitted : kSuccess;
}

Result export_to_fabric(void* handle, int file) {
  if (const Result told = fault("cuMemExportToShareableHandle:fabric")) return told;
  const Exported exported{getpid(), file, domain()};
  std::memset(handle, 0, sizeof(IpcHandle));
  std::memcpy(handle, &exported, sizeof exported);
  return kSuccess;
}

Result import_from_fabric(const void* handle, int* file) {
  if (const Result told = fault("cuMemImportFromShareableHandle:fabric")) return told;
  Exported exported;
  std::memcpy(&exported, handle, sizeof exported);
  const std::string path =
      "/proc/" + std::to_string(exported.process) + "/fd/" + std::to_string(exported.file);
  *file = exported.domain == domain() ? open(path.c_str(), O_RDWR | O_CLOEXEC) : -1;
  return *file < 0 ? kInvalidValue : kSuccess;
}

}  // namespace railgauge::cuda
