// SPDX-License-Identifier: Apache-2.0
#include "combining.h"

#include "collectives/native/reduce_table.h"

namespace railgauge::baseline {
void fill(ReduceTable& table);  // reduce_kernels.cc
}

namespace railgauge::gpu {

Combining::Combining(Dtype dtype, Redop op) : size_(dtype_bytes(dtype)) {
  static const ReduceTable table = [] {
    ReduceTable filled;
    baseline::fill(filled);
    return filled;
  }();
  combine_ = table.combine[static_cast<int>(dtype)][static_cast<int>(op)];
}

}  // namespace railgauge::gpu
