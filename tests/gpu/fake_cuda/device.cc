// SPDX-License-Identifier: Apache-2.0
// Which GPUs there are, their contexts, and errors in words.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <vector>

#include "fake.h"

namespace railgauge::cuda {

struct CUctx_st {
  Device device;
  int number;  // among all GPUs, as NVML counts
  std::string bus_id;
};

namespace {

constexpr int kDriver = 13000, kProcessors = 16, kAttributeProcessors = 16, kAttributeMajor = 75,
              kAttributeMinor = 76, kAttributeMulticast = 132, kMajor = 9, kMinor = 0;
const std::map<Result, const char*> kNames = {
    {kInvalidValue, "INVALID_VALUE"},
    {kOutOfMemory, "OUT_OF_MEMORY"},
    {4, "DEINITIALIZED"},
    {kNoDevice, "NO_DEVICE"},
    {kInvalidDevice, "INVALID_DEVICE"},
    {kInvalidContext, "INVALID_CONTEXT"},
    {kPeerUnsupported, "PEER_ACCESS_UNSUPPORTED"},
    {kInvalidHandle, "INVALID_HANDLE"},
    {kIllegalState, "ILLEGAL_STATE"},
    {kNotFound, "NOT_FOUND"},
    {kNotReady, "NOT_READY"},
    {kPeerAlreadyEnabled, "PEER_ACCESS_ALREADY_ENABLED"},
    {709, "CONTEXT_IS_DESTROYED"},
    {kAlreadyRegistered, "HOST_MEMORY_ALREADY_REGISTERED"},
    {kNotRegistered, "HOST_MEMORY_NOT_REGISTERED"},
    {kNotPermitted, "NOT_PERMITTED"},
    {kNotSupported, "NOT_SUPPORTED"},
    {kCaptureUnsupported, "STREAM_CAPTURE_UNSUPPORTED"},
    {kCaptureMerge, "STREAM_CAPTURE_MERGE"},
    {kCaptureUnmatched, "STREAM_CAPTURE_UNMATCHED"},
    {kCaptureUnjoined, "STREAM_CAPTURE_UNJOINED"},
    {kCaptureIsolation, "STREAM_CAPTURE_ISOLATION"},
    {kCaptureImplicit, "STREAM_CAPTURE_IMPLICIT"},
    {kCapturedEvent, "CAPTURED_EVENT"},
    {209, "NO_BINARY_FOR_GPU"},
    {700, "ILLEGAL_ADDRESS"},
    {803, "SYSTEM_DRIVER_MISMATCH"}};
thread_local std::vector<Context> stack;

std::vector<std::string> words(const std::string& text, char separator) {
  std::istringstream stream(text);
  std::vector<std::string> found;
  for (std::string word; std::getline(stream, word, separator);) {
    if (!word.empty()) found.push_back(word);
  }
  return found;
}

// Of all GPUs the one that a part of CUDA_VISIBLE_DEVICES names: by number, or by the beginning of
// its UUID (fake_nvml.cc has the same).
int number_of(const std::string& part, int all) {
  for (int number = 0; number < all; ++number) {
    char uuid[64];
    std::snprintf(uuid, sizeof uuid, "GPU-00000000-0000-0000-0000-%012d", number);
    if (part == std::to_string(number) || (part[0] == 'G' && std::string(uuid).starts_with(part)))
      return number;
  }
  return -1;
}

std::vector<Context> found() {
  const std::vector<std::string> all = words(setting("NVML_GPUS"), ' ');
  std::vector<Context> contexts;
  const auto add = [&](int number) {
    contexts.push_back(new CUctx_st{static_cast<Device>(contexts.size()), number, all[number]});
  };
  if (!std::getenv("CUDA_VISIBLE_DEVICES")) {
    for (std::size_t number = 0; number < all.size(); ++number) add(static_cast<int>(number));
    return contexts;
  }
  for (const std::string& part : words(setting("CUDA_VISIBLE_DEVICES"), ',')) {
    const int number = number_of(part, static_cast<int>(all.size()));
    if (number < 0) break;
    add(number);
  }
  return contexts;
}

const std::vector<Context>& contexts() {
  static const std::vector<Context> all = found();
  return all;
}

// Of a GPU by NVML's count; of those that FAKE_CUDA_PROCESSORS does not name, as of any.
int processors(std::size_t number) {
  const std::vector<std::string> all = words(setting("FAKE_CUDA_PROCESSORS"), ' ');
  return number < all.size() ? std::stoi(all[number]) : kProcessors;
}

Result print(char* to, int size, const std::string& text) {
  std::snprintf(to, size, "%s", text.c_str());
  return kSuccess;
}

}  // namespace

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Context context_of(Device device) {
  return device >= 0 && device < static_cast<int>(contexts().size()) ? contexts()[device] : nullptr;
}

Device device_of(Context context) { return context->device; }

Context current_context() { return stack.empty() ? nullptr : stack.back(); }

Result fault(const char* function, Device device) {
  const Context context = device < 0 ? current_context() : context_of(device);
  for (const std::string& one : words(setting("FAKE_CUDA_FAULTS"), ' ')) {
    const std::size_t equals = one.find('=');
    const std::string name = one.substr(0, equals), told = one.substr(equals + 1);
    const bool here = context && name == function + ("@" + std::to_string(context->number));
    if (name == function || here)
      return told == "hang"      ? kHang
             : told == "corrupt" ? kCorrupt
             : told == "late"    ? kLate
                                 : std::stoi(told);
  }
  return kSuccess;
}

extern "C" {

Result cuInit(unsigned) {
  RAILGAUGE_FAULT();
  return contexts().empty() ? kNoDevice : kSuccess;
}

Result cuGetErrorName(Result result, const char** name) {
  static std::map<Result, std::string> names;  // for good, as the driver's are
  std::string& kept = names[result];
  const auto found = kNames.find(result);
  kept =
      found == kNames.end() ? std::to_string(result) : std::string("CUDA_ERROR_") + found->second;
  *name = kept.c_str();
  return kSuccess;
}

Result cuGetErrorString(Result, const char** text) {
  *text = "fake error";
  return kSuccess;
}

Result cuDriverGetVersion(int* version) {
  *version = kDriver;
  return kSuccess;
}

Result cuDeviceGetCount(int* count) {
  *count = static_cast<int>(contexts().size());
  return kSuccess;
}

Result cuDeviceGet(Device* device, int ordinal) {
  *device = ordinal;
  return context_of(ordinal) ? kSuccess : kInvalidDevice;
}

Result cuDeviceGetName(char* name, int size, Device) { return print(name, size, "fake GPU"); }

Result cuDeviceGetPCIBusId(char* bus_id, int size, Device device) {
  return print(bus_id, size, context_of(device)->bus_id);
}

Result cuDeviceGetByPCIBusId(Device* device, const char* bus_id) {
  for (const Context context : contexts()) {
    if (context->bus_id != bus_id) continue;
    *device = context->device;
    return kSuccess;
  }
  return kInvalidValue;
}

// FAKE_CUDA_FAULTS=cuMulticastCreate=801: the GPU has no multicast.
Result cuDeviceGetAttribute(int* value, int attribute, Device device) {
  *value = attribute == kAttributeProcessors  ? processors(context_of(device)->number)
           : attribute == kAttributeMajor     ? kMajor
           : attribute == kAttributeMinor     ? kMinor
           : attribute == kAttributeMulticast ? fault("cuMulticastCreate", device) != kNotSupported
                                              : 1;  // what can be on is on
  return kSuccess;
}

Result cuDevicePrimaryCtxRetain(Context* context, Device device) {
  RAILGAUGE_FAULT(device);
  *context = context_of(device);
  return *context ? kSuccess : kInvalidDevice;
}

Result cuDevicePrimaryCtxRelease_v2(Device) { return kSuccess; }

Result cuCtxPushCurrent_v2(Context context) {
  RAILGAUGE_FAULT();
  if (!context) return kInvalidContext;
  stack.push_back(context);
  return kSuccess;
}

Result cuCtxPopCurrent_v2(Context* context) {
  if (stack.empty()) return kInvalidContext;
  *context = stack.back();
  stack.pop_back();
  return kSuccess;
}

// FAKE_CUDA_FAULTS=cuCtxEnablePeerAccess=217: no two GPUs reach each other.
Result cuDeviceCanAccessPeer(int* can, Device device, Device peer) {
  *can = device != peer && !fault("cuCtxEnablePeerAccess", device);
  return kSuccess;
}

Result cuCtxEnablePeerAccess(Context context, unsigned) {
  RAILGAUGE_FAULT();
  return context == current_context() ? kInvalidContext : kSuccess;
}

Result cuCtxDisablePeerAccess(Context) { return kSuccess; }

}  // extern "C"

}  // namespace railgauge::cuda
