// SPDX-License-Identifier: Apache-2.0
// The GPUs that CUDA shows to this process, by its numbers.
#pragma once

#include <string>
#include <vector>

#include "transports/native/cuda/driver.h"

namespace railgauge::cuda {

// Of each GPU. Error (kSystem): there is no driver, or it shows none.
std::vector<std::string> bus_ids();
// Whether `gpu` can load from and store to the memory of another one.
bool reaches(int gpu, int other);
// Bytes that can be taken of its memory.
std::size_t memory_left(int gpu);

}  // namespace railgauge::cuda
