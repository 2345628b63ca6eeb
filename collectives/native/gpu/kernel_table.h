// SPDX-License-Identifier: Apache-2.0
// All kernels for operations on one GPU, loaded when its first communicator is made: to load one
// later could break a graph's capture, or wait until a kernel ends that waits for this rank.
#pragma once

#include <memory>
#include <vector>

#include "collectives/native/dtype.h"
#include "collectives/native/gpu/choice.h"
#include "transports/native/cuda/kernels.h"

namespace railgauge::gpu {

class KernelTable {
 public:
  // Those of a GPU's context, which its communicators share; `nvls`: also those of Way::kNvls.
  // Error (kSystem): this build or this GPU has none.
  static std::shared_ptr<const KernelTable> of(cuda::Context context, bool nvls);

  KernelTable(cuda::Context context, bool nvls);
  // Not for Way::kCopies, and for Way::kNvls only what NVSwitches add up.
  cuda::Function function(Dtype dtype, Way way) const { return functions_[index(dtype, way)]; }
  // That multiplies elements.
  cuda::Function scale(Dtype dtype) const { return scales_[static_cast<std::size_t>(dtype)]; }
  // Of sends and receives.
  cuda::Function messages() const { return messages_; }

 private:
  static std::size_t index(Dtype dtype, Way way) {
    return static_cast<std::size_t>(dtype) * kWays + static_cast<std::size_t>(way);
  }

  std::vector<std::unique_ptr<cuda::Kernels>> modules_;  // by dtype, and those without
  std::vector<cuda::Function> functions_, scales_;
  cuda::Function messages_;
};

}  // namespace railgauge::gpu
