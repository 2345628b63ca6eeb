// SPDX-License-Identifier: Apache-2.0
// The reduction that one operation asks for.
#pragma once

#include <cstddef>

#include "collectives/native/operation.h"
#include "collectives/native/reduce.h"

namespace railgauge {

class Reduction {
 public:
  Reduction(const Operation& operation, int ranks)
      : kernel_(combine_all(operation.dtype, operation.op)),
        divisor_(operation.op == Redop::kAvg ? ranks : 0) {}

  // out[i] = inputs[0][i] op ... op inputs[n-1][i], in that order; also[i] too where it is not
  // null. `out` and `also` may be inputs. n >= 1.
  void combine(void* out, void* also, const void* const* inputs, int n, std::size_t count) const {
    kernel_(out, also, inputs, n, count, 0, false);
  }
  // The same of all ranks' inputs: it ends the reduction (an average is divided). `stream` writes
  // `out` past the caches.
  void finish(void* out, void* also, const void* const* inputs, int n, std::size_t count,
              bool stream) const {
    kernel_(out, also, inputs, n, count, divisor_, stream);
  }

 private:
  CombineAll kernel_;
  int divisor_;  // 0: it ends as it is
};

}  // namespace railgauge
