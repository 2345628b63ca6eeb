// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/fabric_trial.h"

#include "transports/native/cuda/virtual_memory.h"

namespace railgauge::cuda {

namespace {

constexpr int kFabricHandles = 128;  // CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED

}  // namespace

FabricTrial::FabricTrial(int device) : gpu_(device) {
  if (!gpu_.attribute(kFabricHandles))
    throw Error(ErrorCode::kSystem, "the GPU or its driver has no fabric handles");
  const Current current(gpu_.context());
  const std::string what = std::string("taking memory") + kWhatFabricTakes;
  memory_.emplace(created(gpu_, 1, kAsDescriptor | kAsFabricHandle, what).memory);
  handle_ = memory_->fabric_handle();
}

std::string FabricTrial::why_not(const IpcHandle& other) const {
  try {
    const Current current(gpu_.context());
    Shareable::imported(other, "importing memory");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace railgauge::cuda
