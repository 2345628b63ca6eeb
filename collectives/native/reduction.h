// SPDX-License-Identifier: Apache-2.0
// The reduction that one operation asks for: which kernels, and what ends it.
#pragma once

#include <cstddef>

#include "collectives/native/operation.h"
#include "collectives/native/reduce.h"

namespace railgauge {

class Reduction {
 public:
  Reduction(const Operation& operation, int ranks);

  // out[i] = inputs[0][i] op ... op inputs[n-1][i], in that order; also[i] too where it is not null.
  // `out` and `also` may be inputs. n >= 1.
  void combine(std::byte* out, std::byte* also, const std::byte* const* inputs, int n,
               std::size_t count) const;
  // The same of all ranks' inputs: it ends the reduction (an average is divided). `stream` writes
  // `out` past the caches.
  void finish(std::byte* out, std::byte* also, const std::byte* const* inputs, int n,
              std::size_t count, bool stream) const;

 private:
  void block(std::byte* out, const std::byte* const* inputs, int n, std::size_t at,
             std::size_t count) const;

  ReduceKernels::Combine combine_;
  ReduceKernels::CombineTwice combine_twice_;
  ReduceKernels::Divide divide_;  // nullptr: it ends as it is
  int ranks_;
  std::size_t element_;
};

}  // namespace railgauge
