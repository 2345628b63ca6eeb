// SPDX-License-Identifier: Apache-2.0
// Elements times a factor, as a premultiplied sum has them: rounded to their type first.
#pragma once

#include <cstddef>

#include "collectives/native/dtype.h"

namespace railgauge {

// Whether an integer type holds the factor.
bool fits(Dtype dtype, double factor);
// out[i] = in[i] * factor for i < count, by the kernels that reductions run.
void scale(void* out, const void* in, std::size_t count, Dtype dtype, double factor);

}  // namespace railgauge
