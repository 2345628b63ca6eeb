// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/reduction.h"

#include <algorithm>
#include <cstring>

namespace railgauge {

namespace {

constexpr std::size_t kBlockBytes = 4096;  // stays in the first-level cache between two passes

}  // namespace

Reduction::Reduction(const Operation& operation, int ranks)
    : combine_(reduce_kernels().combine[static_cast<int>(operation.dtype)]
                                       [static_cast<int>(operation.op)]),
      combine_twice_(reduce_kernels().combine_twice[static_cast<int>(operation.dtype)]
                                                   [static_cast<int>(operation.op)]),
      divide_(operation.op == Redop::kAvg
                  ? reduce_kernels().divide[static_cast<int>(operation.dtype)]
                  : nullptr),
      ranks_(ranks),
      element_(operation.element_bytes()) {}

void Reduction::block(std::byte* out, const std::byte* const* inputs, int n, std::size_t at,
                      std::size_t count) const {
  if (n == 1) {
    std::memmove(out, inputs[0] + at, count * element_);
    return;
  }
  combine_(out, inputs[0] + at, inputs[1] + at, count);
  for (int i = 2; i < n; ++i) combine_(out, out, inputs[i] + at, count);
}

void Reduction::combine(std::byte* out, std::byte* also, const std::byte* const* inputs, int n,
                        std::size_t count) const {
  if (n == 2 && also) return combine_twice_(out, also, inputs[0], inputs[1], count);
  if (n == 2) return combine_(out, inputs[0], inputs[1], count);
  alignas(64) std::byte sum[kBlockBytes];
  const std::size_t step = kBlockBytes / element_;
  for (std::size_t at = 0; at < count; at += step) {
    std::size_t some = std::min(step, count - at);
    block(sum, inputs, n, at * element_, some);
    std::memcpy(out + at * element_, sum, some * element_);
    if (also) std::memcpy(also + at * element_, sum, some * element_);
  }
}

void Reduction::finish(std::byte* out, std::byte* also, const std::byte* const* inputs, int n,
                       std::size_t count, bool stream) const {
  if (!divide_ && !stream) return combine(out, also, inputs, n, count);
  alignas(64) std::byte sum[kBlockBytes];
  const std::size_t step = kBlockBytes / element_;
  for (std::size_t at = 0; at < count; at += step) {
    std::size_t some = std::min(step, count - at), bytes = some * element_;
    block(sum, inputs, n, at * element_, some);
    if (divide_) divide_(sum, some, ranks_);
    if (also) std::memcpy(also + at * element_, sum, bytes);
    stream ? stream_copy(out + at * element_, sum, bytes)
           : static_cast<void>(std::memcpy(out + at * element_, sum, bytes));
  }
}

}  // namespace railgauge
