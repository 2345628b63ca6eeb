// SPDX-License-Identifier: Apache-2.0
// An operation on raw pointers, from Python's numbers.
#pragma once

#include <cstdint>

#include "collectives/native/operation.h"
#include "transports/native/error.h"

namespace railgauge {

// Error (kInvalid): there is unknown collective, dtype or operator.
inline Operation read_operation(int collective, std::uintptr_t source, std::uintptr_t destination,
                                std::size_t count, int dtype, int op, int root) {
  if (collective < 0 || collective >= kCollectives || dtype < 0 || dtype >= kDtypes || op < 0 ||
      op >= kRedops) {
    throw Error(ErrorCode::kInvalid, "unknown collective, dtype or operator");
  }
  return {static_cast<Collective>(collective),
          reinterpret_cast<const std::byte*>(source),
          reinterpret_cast<std::byte*>(destination),
          count,
          static_cast<Dtype>(dtype),
          static_cast<Redop>(op),
          root};
}

}  // namespace railgauge
