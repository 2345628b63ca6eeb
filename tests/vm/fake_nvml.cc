// SPDX-License-Identifier: Apache-2.0
// A libnvidia-ml.so.1 for guests: H100s at the bus ids of NVML_GPUS (space-separated, in NVML's
// order), each with four NVLinks to the NVSwitch at NVML_SWITCH, and in the NVLink domain
// NVML_FABRIC (CLUSTER/CLIQUE, the former 32 hex digits), if there is one. Structures and constants
// are those of nvml.h; a function that is missing here is "not found" to callers, as with an old
// driver.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
constexpr unsigned char kRegistered = 3;  // NVML_GPU_FABRIC_STATE_COMPLETED
constexpr unsigned kLinks = 4;
constexpr unsigned kDeviceTypeSwitch = 2;

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

struct FabricInfo {  // nvmlGpuFabricInfo_v2_t
  unsigned version;
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health;
};

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> gpus() {
  std::istringstream text(setting("NVML_GPUS"));
  std::vector<std::string> found;
  for (std::string bus_id; text >> bus_id;) found.push_back(bus_id);
  return found;
}

// A handle is the GPU's index plus one.
size_t index_of(const void* handle) { return reinterpret_cast<size_t>(handle) - 1; }

int fill(PciInfo* info, const std::string& bus_id) {
  std::memset(info, 0, sizeof *info);
  std::snprintf(info->bus_id, sizeof info->bus_id, "0000%s", bus_id.c_str());
  return kSuccess;
}

int print(char* text, unsigned size, const char* format, size_t index) {
  std::snprintf(text, size, format, index);
  return kSuccess;
}

}  // namespace

extern "C" {

int nvmlInitWithFlags(unsigned) { return kSuccess; }

const char* nvmlErrorString(int) { return "fake error"; }

int nvmlSystemGetDriverVersion(char* text, unsigned size) { return print(text, size, "580.0", 0); }

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(gpus().size());
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  if (index >= gpus().size()) return kInvalidArgument;
  *handle = reinterpret_cast<void*>(static_cast<size_t>(index) + 1);
  return kSuccess;
}

int nvmlDeviceGetPciInfo_v3(void* handle, PciInfo* info) {
  return fill(info, gpus()[index_of(handle)]);
}

int nvmlDeviceGetName(void*, char* text, unsigned size) {
  return print(text, size, "NVIDIA H100 80GB HBM3", 0);
}

int nvmlDeviceGetUUID(void* handle, char* text, unsigned size) {
  return print(text, size, "GPU-00000000-0000-0000-0000-%012zu", index_of(handle));
}

int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return kSuccess;
}

int nvmlDeviceGetGpuFabricInfoV(void*, FabricInfo* info) {
  const std::string domain = setting("NVML_FABRIC");
  if (domain.size() < 2 * sizeof info->cluster + 2) return kNotSupported;
  for (std::size_t byte = 0; byte < sizeof info->cluster; ++byte)
    info->cluster[byte] = std::stoi(domain.substr(2 * byte, 2), nullptr, 16);
  info->status = kSuccess;
  info->clique = std::stoi(domain.substr(2 * sizeof info->cluster + 1));
  info->state = kRegistered;
  info->health = 0;
  return kSuccess;
}

int nvmlDeviceGetNvLinkState(void*, unsigned link, unsigned* active) {
  *active = 1;
  return link < kLinks ? kSuccess : kInvalidArgument;
}

int nvmlDeviceGetNvLinkCapability(void*, unsigned link, unsigned, unsigned* capable) {
  *capable = 1;
  return link < kLinks ? kSuccess : kInvalidArgument;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned link, PciInfo* info) {
  return link < kLinks ? fill(info, setting("NVML_SWITCH")) : kInvalidArgument;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned link, unsigned* type) {
  *type = kDeviceTypeSwitch;
  return link < kLinks ? kSuccess : kInvalidArgument;
}

}  // extern "C"
