// SPDX-License-Identifier: Apache-2.0
// Element-wise reductions and copies on host memory, for every dtype and operator, in the widest
// instruction set that this processor has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/native/dtype.h"

namespace railgauge {

// out[i] = (inputs[0][i] op inputs[1][i] op ... op inputs[n - 1][i]) / divisor for i < count, and
// the same in also[i] unless that is null. n >= 1; a divisor of 0 divides by nothing. `stream`
// writes `out`, not `also`, past the caches: for results too large for the caches. Call
// stream_fence() before another thread may read what was written this way.
//
// The order is that of the inputs. Floats below 32 bits are computed in float and rounded once, at
// the end; what is too large for them: reduced_float.h. Integers wrap, and are divided toward zero.
// Minimum and maximum prefer a number to a NaN, as C's fmin and fmax do. kAvg adds, as kSum does:
// it needs the divisor.
//
// out and also may each be any of the inputs, or overlap none of them; all are aligned as their
// elements are.
using CombineAll = void (*)(void* out, void* also, const void* const* inputs, int n,
                            std::size_t count, int divisor, bool stream);

// The kernel for this processor.
CombineAll combine_all(Dtype dtype, Redop op);

// A copy past the caches, as with `stream` above.
void stream_copy(void* out, const void* in, std::size_t bytes);
void stream_fence();

}  // namespace railgauge
