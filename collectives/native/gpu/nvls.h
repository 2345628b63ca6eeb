// SPDX-License-Identifier: Apache-2.0
// Whether a GPU can add up on NVSwitches (Way::kNvls).
#pragma once

#include <string>

namespace railgauge::gpu {

// Why a GPU, by CUDA's number, cannot; empty: it can.
std::string why_no_nvls(int device);

}  // namespace railgauge::gpu
