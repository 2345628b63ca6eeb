// SPDX-License-Identifier: Apache-2.0
// The result of a kernel that checks data.
#pragma once

namespace railgauge::gpu {

struct Wrong {
  unsigned long long count = 0;   // elements that differ
  unsigned long long first = ~0;  // index of the first of them
};

}  // namespace railgauge::gpu
