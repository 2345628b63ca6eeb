// SPDX-License-Identifier: Apache-2.0
// The GPUs of this process, by CUDA's numbers. All throw Error (kSystem) without a driver.
#pragma once

#include <string>

namespace railgauge::cuda {

struct Facts {
  std::string bus_id;  // 0000:1b:00.0
  std::string name;
};

int count();
Facts facts(int device);
// Whether one GPU can map the other's memory; false for one that this process does not see.
bool reach(const std::string& bus_id, const std::string& other);

}  // namespace railgauge::cuda
