// SPDX-License-Identifier: Apache-2.0
// Every variable that NCCL asks for, with its value and where that comes from.
#pragma once

#include "collectives/native/nccl_plugin/recording.h"

namespace railgauge::nccl_plugin {

enum Origin : std::uint32_t { kUnset, kEnvironment, kProgram, kUserFile, kSystemFile };

// NCCL has set what its files have before it loads a plugin: what was not in the environment when
// the process began comes from them, or from the program.
void begin_census();
void count_variable(Recording& recording, const char* name, const char* value);

}  // namespace railgauge::nccl_plugin
