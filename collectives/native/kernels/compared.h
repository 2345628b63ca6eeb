// SPDX-License-Identifier: Apache-2.0
// What kernels that look at data have found, in memory that was cleared before.
#pragma once

namespace railgauge::gpu {

struct Compared {
  unsigned long long wrong;        // bytes
  unsigned long long first_wrong;  // the first one's index, its bits inverted: the largest is first
};

}  // namespace railgauge::gpu
