// SPDX-License-Identifier: Apache-2.0
// The reduction kernels of one instruction set, as reduce_kernels.cc fills them in.
#pragma once

#include <vector>

#include "collectives/native/reduce.h"

namespace railgauge {

struct ReduceTable {
  CombineAll combine[kHostDtypes][kHostRedops];  // null: not reduced (reduces_by())
};

// Those of all instruction sets that this processor has; the last is the widest.
std::vector<ReduceTable> reduce_tables();

}  // namespace railgauge
