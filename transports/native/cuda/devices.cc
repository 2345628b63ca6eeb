// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/devices.h"

#include "transports/native/cuda/memory.h"

namespace railgauge::cuda {

namespace {

Device device(int gpu) {
  Device found;
  Driver::get().check(Driver::get().device_get(&found, gpu), "GPU " + std::to_string(gpu));
  return found;
}

}  // namespace

std::vector<std::string> bus_ids() {
  const Driver& cuda = Driver::get();
  int count = 0;
  cuda.check(cuda.device_count(&count), "counting GPUs");
  std::vector<std::string> found(count);
  for (int gpu = 0; gpu < count; ++gpu) {
    char bus_id[32] = "";
    cuda.check(cuda.device_bus_id(bus_id, sizeof bus_id, device(gpu)),
               "asking a GPU for its bus id");
    found[gpu] = bus_id;
  }
  return found;
}

bool reaches(int gpu, int other) {
  const Driver& cuda = Driver::get();
  int can = 0;
  cuda.check(cuda.can_access_peer(&can, device(gpu), device(other)),
             "asking a GPU whom it reaches");
  return can != 0;
}

std::size_t memory_left(int gpu) {
  const Memory some(gpu, 1);  // opens the GPU
  const Current current(some.context());
  std::size_t left = 0, all = 0;
  Driver::get().check(Driver::get().memory_left(&left, &all), "asking a GPU for its memory");
  return left;
}

}  // namespace railgauge::cuda
