// SPDX-License-Identifier: Apache-2.0
// The product's kernels (collectives/native/kernels/*.cu), compiled for the CPU, by name. A
// kernel's blocks run one after the other, as on a GPU that has room for one.
#pragma once

#include <functional>
#include <string>

#include "collectives/native/kernels/ptx.cuh"

namespace railgauge::cuda {

struct Kernel {
  std::string name;
  unsigned threads;  // of a block, at most
  gpu::Bound bind;
};

// Of an element type's module, or of one without; null: there is none of that name.
const Kernel* kernel(const std::string& module, const std::string& name);

// Until all of its threads have ended.
void run(const std::function<void()>& bound, unsigned blocks, unsigned threads);

}  // namespace railgauge::cuda
