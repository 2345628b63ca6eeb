// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/exportable.h"

#include <vector>

namespace railgauge::cuda {

namespace {

constexpr int kVirtualMemory = 102;  // CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
constexpr int kDescriptors =
    103;  // CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED

}  // namespace

// By trying it: in a container more than the attributes decides.
std::string why_not_exportable(int device) {
  try {
    const Gpu gpu(device);
    if (!gpu.attribute(kVirtualMemory) || !gpu.attribute(kDescriptors))
      return "the GPU or its driver does not support it";
    const Current current(gpu.context());
    created(gpu, 1, kAsDescriptor, "taking memory").memory.exported();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

Pointer Exportable::take(std::size_t size, const std::string& gpu) {
  const std::string what = "taking " + std::to_string(size) + " bytes of " + gpu;
  std::vector<MappedPiece> pieces;
  pieces.push_back(created(gpu_, size, handle_types_, what));
  range_.emplace(gpu_, pieces, what);
  return range_->pointer();
}

std::unique_ptr<Source> source(int device, int handle_types) {
  if (handle_types) return std::make_unique<Exportable>(device, handle_types);
  return std::make_unique<Source>();
}

}  // namespace railgauge::cuda
