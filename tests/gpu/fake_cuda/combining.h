// SPDX-License-Identifier: Apache-2.0
// Reductions of chunks by the host engine's own kernels.
#pragma once

#include <cstring>
#include <vector>

#include "collectives/native/reduce.h"

namespace railgauge::gpu {

// Those that kernels are named by.
inline constexpr const char* kOps[] = {"sum", "prod", "min", "max"};

class Combining {
 public:
  Combining(Dtype dtype, Redop op);

  std::size_t element_bytes() const { return size_; }
  // The inputs, reduced in their order and divided, to every target; nothing without either.
  void operator()(const std::vector<char*>& targets, const std::vector<const void*>& inputs,
                  std::size_t bytes, std::uint32_t divide_by) const {
    if (targets.empty() || inputs.empty()) return;
    combine_(targets[0], nullptr, inputs.data(), static_cast<int>(inputs.size()), bytes / size_,
             static_cast<int>(divide_by), false);
    for (std::size_t i = 1; i < targets.size(); ++i) std::memcpy(targets[i], targets[0], bytes);
  }

 private:
  std::size_t size_;
  CombineAll combine_;
};

}  // namespace railgauge::gpu
