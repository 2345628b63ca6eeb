// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/facts.h"

#include <algorithm>
#include <cctype>

#include "transports/native/cuda/driver.h"

namespace railgauge::cuda {

namespace {}  // namespace

int count() {
  const Driver& cuda = Driver::get();
  int count = 0;
  const Result result = cuda.device_count(&count);
  if (result == kNoDevice) return 0;
  cuda.check(result, "counting GPUs");
  return count;
}

Facts facts(int device) {
  const Driver& cuda = Driver::get();
  Device handle;
  cuda.check(cuda.device_get(&handle, device), "GPU " + std::to_string(device));
  char bus_id[32] = {}, name[96] = {};
  cuda.check(cuda.device_bus_id(bus_id, sizeof bus_id, handle), "asking a GPU for its bus id");
  cuda.check(cuda.device_name(name, sizeof name, handle), "asking a GPU for its name");
  std::string lower(bus_id);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return {lower, name};
}

bool reach(const std::string& bus_id, const std::string& other) {
  const Driver& cuda = Driver::get();
  Device from, to;
  int can = 0;
  return !cuda.device_by_bus_id(&from, bus_id.c_str()) &&
         !cuda.device_by_bus_id(&to, other.c_str()) && !cuda.can_access_peer(&can, from, to) && can;
}

}  // namespace railgauge::cuda
