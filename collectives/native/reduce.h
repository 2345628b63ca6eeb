// SPDX-License-Identifier: Apache-2.0
// Element-wise reductions and copies on host memory, for every dtype and operator, in the widest
// instruction set that this processor has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/native/dtype.h"

namespace railgauge {

struct ReduceKernels {
  // out[i] = a[i] op b[i] for i < count. out may be a or b. kAvg adds, as kSum does.
  using Combine = void (*)(void* out, const void* a, const void* b, std::size_t count);
  // out[i] = also[i] = a[i] op b[i]: a reduction with two targets. out and also may each be a or b.
  using CombineTwice = void (*)(void* out, void* also, const void* a, const void* b,
                                std::size_t count);
  // data[i] = data[i] / divisor, what makes an average of a sum: integers round toward zero.
  using Divide = void (*)(void* data, std::size_t count, int divisor);

  Combine combine[kDtypes][kRedops];
  CombineTwice combine_twice[kDtypes][kRedops];
  Divide divide[kDtypes];
};

// The kernels for this processor.
const ReduceKernels& reduce_kernels();

// Copies past the caches (non-temporal stores): for results too large to be read back from cache.
// Call stream_fence() before another thread may read what was written.
void stream_copy(void* out, const void* in, std::size_t bytes);
void stream_fence();

}  // namespace railgauge
