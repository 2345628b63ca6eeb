// SPDX-License-Identifier: Apache-2.0
// The kernels there are, by name: each file that has some adds them before main().
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "collectives/native/dtype.h"

namespace railgauge::cuda {

// What a launch does, with its parameters copied; `dtype` is the element type of its module.
using Kernel = std::function<std::function<void()>(std::optional<Dtype> dtype, void** parameters)>;

void add_kernel(const std::string& name, Kernel kernel);

// Null: there is none.
const Kernel* kernel(const std::string& name);

// A kernel's parameter.
template <class T>
const T& parameter(void** parameters, int number) {
  return *static_cast<const T*>(parameters[number]);
}

}  // namespace railgauge::cuda
