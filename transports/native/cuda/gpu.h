// SPDX-License-Identifier: Apache-2.0
// A GPU that this process holds open, by the primary context that the runtime and PyTorch use too.
#pragma once

#include <string>

#include "transports/native/cuda/driver.h"

namespace railgauge::cuda {

class Gpu {
 public:
  // By CUDA's number. Error (kSystem): no driver, no such device.
  explicit Gpu(int number);
  // For a device that was found in another way; `name` is for messages.
  Gpu(Device device, const std::string& name);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  Device device() const { return device_; }
  Context context() const { return context_; }
  // One of CU_DEVICE_ATTRIBUTE_*.
  int attribute(int which) const;
  // How many multiprocessors it has.
  int processors() const;

 private:
  Device device_ = 0;
  Context context_ = nullptr;
};

}  // namespace railgauge::cuda
