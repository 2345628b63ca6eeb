// SPDX-License-Identifier: Apache-2.0
// The environment plugins by the names that NCCL looks for: it gets every variable from here, as
// the process has it.
#include <stdlib.h>
#include <string.h>

#include "collectives/native/nccl_plugin/abi.h"
#include "collectives/native/nccl_plugin/census.h"
#include "collectives/native/nccl_plugin/recording.h"

namespace railgauge::nccl_plugin {
namespace {

Recording* environment_recording() {
  const char* why;
  return Recording::of_process(&why);
}

// An error here would end the job: without a recording NCCL gets its variables all the same.
Result init_environment(std::uint8_t major, std::uint8_t minor, std::uint8_t patch,
                        const char* suffix) {
  if (Recording* recording = environment_recording()) {
    FileHeader& header = recording->header();
    header.nccl = major * 10000 + minor * 100 + patch;
    if (suffix) strncpy(header.suffix, suffix, sizeof header.suffix - 1);
    begin_census();
  }
  return kSuccess;
}
Result init_environment_v1(std::uint8_t major, std::uint8_t minor, std::uint8_t patch,
                           const char* suffix) {
  if (Recording* recording = environment_recording()) recording->header().environment = 1;
  return init_environment(major, minor, patch, suffix);
}
Result init_environment_v2(std::uint8_t major, std::uint8_t minor, std::uint8_t patch,
                           const char* suffix, Logger) {
  if (Recording* recording = environment_recording()) recording->header().environment = 2;
  return init_environment(major, minor, patch, suffix);
}
Result finalize_environment() {
  if (Recording* recording = environment_recording()) recording->mark_clocks();
  return kSuccess;
}
const char* get_environment(const char* name) {
  const char* value = getenv(name);
  if (Recording* recording = environment_recording()) count_variable(*recording, name, value);
  return value;
}

}  // namespace
}  // namespace railgauge::nccl_plugin

#define RAILGAUGE_EXPORTED extern "C" __attribute__((visibility("default"))) const
namespace plugin = railgauge::nccl_plugin;
RAILGAUGE_EXPORTED plugin::Environment_v1 ncclEnvPlugin_v1 = {
    "railgauge", plugin::init_environment_v1, plugin::finalize_environment,
    plugin::get_environment};
RAILGAUGE_EXPORTED plugin::Environment_v2 ncclEnvPlugin_v2 = {
    "railgauge", plugin::init_environment_v2, plugin::finalize_environment,
    plugin::get_environment};
#undef RAILGAUGE_EXPORTED
