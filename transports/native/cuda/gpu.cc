// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/gpu.h"

#include "transports/native/cuda/waiting.h"

namespace railgauge::cuda {

namespace {

constexpr int kProcessorCount = 16;  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT

std::string name_of(int number) { return "GPU " + std::to_string(number); }

Device device_of(int number) {
  Device device;
  Driver::get().check(Driver::get().device_get(&device, number), name_of(number));
  return device;
}

}  // namespace

Gpu::Gpu(int number) : Gpu(device_of(number), name_of(number)) {}

Gpu::Gpu(Device device, const std::string& name) : device_(device) {
  Driver::get().check(Driver::get().context_retain(&context_, device), "opening " + name);
}

Gpu::~Gpu() {
  if (!hangs(context_)) Driver::get().context_release(device_);
}

int Gpu::attribute(int which) const {
  int value = 0;
  Driver::get().check(Driver::get().device_attribute(&value, which, device_), "asking a GPU");
  return value;
}

int Gpu::processors() const { return attribute(kProcessorCount); }

}  // namespace railgauge::cuda
