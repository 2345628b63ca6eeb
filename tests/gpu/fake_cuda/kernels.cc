// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"

#include <map>

namespace railgauge::cuda {

namespace {

std::map<std::string, Kernel>& kernels() {
  static std::map<std::string, Kernel> all;
  return all;
}

}  // namespace

void add_kernel(const std::string& name, Kernel kernel) { kernels()[name] = std::move(kernel); }

const Kernel* kernel(const std::string& name) {
  const auto found = kernels().find(name);
  return found == kernels().end() ? nullptr : &found->second;
}

}  // namespace railgauge::cuda
