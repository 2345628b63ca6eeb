// SPDX-License-Identifier: Apache-2.0
// The tuner plugins by the names that NCCL looks for. Where no table fits a communicator, NCCL's
// own choice stays, and NCCL's log says why once. No function returns an error: NCCL would end the
// job.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "collectives/native/nccl_plugin/process.h"
#include "collectives/native/nccl_plugin/tuner_abi.h"
#include "collectives/native/nccl_plugin/tuning.h"

namespace railgauge::nccl_plugin {
namespace {

constexpr int kTunings = 16;  // bits of a context
constexpr char kFiles[] = "RAILGAUGE_NCCL_TUNE";

Tuning tunings[kTunings];
std::atomic<bool> refused[kTunings];
int tuning_count = 0;

void warn(Logger log, const char* path, const char* why) {
  if (log)
    log(kLogWarn, kLogInit, __FILE__, __LINE__,
        "railgauge: NCCL's own choice stays, %s is not applied: %s", path, why);
}

std::uint64_t least_channels() {
  const char* text = getenv("NCCL_MIN_NCHANNELS");
  return text ? strtoul(text, nullptr, 0) : 0;
}

// All files of the environment, at the first communicator.
void load_tunings(bool channels_can_be_set, Logger log) {
  const char* rest = getenv(kFiles);
  if (!rest || !*rest) return warn(log, "a table", "RAILGAUGE_NCCL_TUNE is not set");
  const ChannelLimits limits{channels_can_be_set, least_channels()};
  while (*rest) {
    char path[Tuning::kPathBytes];
    const std::size_t length = strcspn(rest, ":");
    snprintf(path, sizeof path, "%.*s", static_cast<int>(length < sizeof path ? length : 0), rest);
    rest += length + (rest[length] == ':');
    if (!length) continue;
    const char* why = tuning_count == kTunings ? "RAILGAUGE_NCCL_TUNE names more than 16 files"
                                               : tunings[tuning_count].load(path, limits);
    if (why)
      warn(log, path, why);
    else
      ++tuning_count;
  }
}

// Whether a table was measured with such a communicator; if not, why.
bool is_of(const Tuning& tuning, std::size_t ranks, std::size_t nodes, char* why,
           std::size_t bytes) {
  const std::uint32_t version = nccl_release();
  char gpu[Tuning::kNameBytes] = "";
  gpu_name(gpu, sizeof gpu);
  if (tuning.ranks != ranks || tuning.nodes != nodes)
    snprintf(why, bytes,
             "measured with ranks %llu, nodes %llu; this communicator has ranks %zu, nodes %zu",
             static_cast<unsigned long long>(tuning.ranks),
             static_cast<unsigned long long>(tuning.nodes), ranks, nodes);
  else if (tuning.version != version)
    snprintf(why, bytes, "measured with NCCL %s; this is NCCL %u.%u.%u", tuning.release,
             version / 10000, version / 100 % 100, version % 100);
  else if (!tuning.has_gpu(gpu))
    snprintf(why, bytes, "measured with other GPUs; this GPU is %s", *gpu ? gpu : "unknown");
  else
    return true;
  return false;
}

// A context is the tables that apply to a communicator, as bits.
Result init_tuner(bool channels_can_be_set, std::size_t ranks, std::size_t nodes, Logger log,
                  void** context) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static bool is_loaded = false;
  pthread_mutex_lock(&mutex);
  if (!is_loaded) load_tunings(channels_can_be_set, log);
  is_loaded = true;
  pthread_mutex_unlock(&mutex);
  std::uintptr_t applied = 0;
  for (int i = 0; i < tuning_count; ++i) {
    const Tuning& tuning = tunings[i];
    char why[256];
    if (is_of(tuning, ranks, nodes, why, sizeof why)) {
      applied |= std::uintptr_t{1} << i;
      if (log)
        log(kLogInfo, kLogInit, __FILE__, __LINE__, "railgauge: tuning %s at %d of %d sizes by %s",
            tuning.collective, tuning.chosen(), tuning.sizes, tuning.path);
    } else if (!refused[i].exchange(true)) {
      warn(log, tuning.path, why);
    }
  }
  *context = reinterpret_cast<void*>(applied);
  return kSuccess;
}

// The first table of that collective decides. It was measured with single operations: NCCL says how
// many it joins on each channel.
const Tuning* tuning_of(void* context, int function, int operations) {
  const std::uintptr_t applied = reinterpret_cast<std::uintptr_t>(context);
  for (int i = 0; applied >> i && operations <= 1; ++i)
    if (applied >> i & 1 && tunings[i].function == function) return &tunings[i];
  return nullptr;
}

Result init_tuner_v2(std::size_t ranks, std::size_t nodes, Logger log, void** context) {
  return init_tuner(false, ranks, nodes, log, context);
}
Result init_tuner_v3(std::size_t ranks, std::size_t nodes, Logger log, void** context) {
  return init_tuner(true, ranks, nodes, log, context);
}
Result init_tuner_v5(void** context, std::uint64_t, std::size_t ranks, std::size_t nodes,
                     Logger log, void*, void*) {
  return init_tuner(true, ranks, nodes, log, context);
}

// Without costs it is these two arguments that say what NCCL cannot use.
Result choose_v2(void* context, int function, std::size_t bytes, int has_collnet, int has_nvls,
                 int operations, int* algorithm, int* protocol, int*) {
  const Tuning* tuning = tuning_of(context, function, operations);
  if (!tuning) return kSuccess;
  const TunedChoice choice = tuning->at(bytes);
  const bool is_nvls = choice.algorithm == kNvls || choice.algorithm == kNvlsTree;
  const bool needs_collnet = choice.algorithm == kNvls && tuning->nodes > 1;
  if (choice.algorithm < 0 || choice.algorithm == kPat || (is_nvls && !has_nvls) ||
      (needs_collnet && !has_collnet))
    return kSuccess;
  *algorithm = choice.algorithm;
  *protocol = choice.protocol;
  return kSuccess;
}

Result choose_v3(void* context, int function, std::size_t bytes, int operations, float** costs,
                 int algorithms, int protocols, int* channels) {
  const Tuning* tuning = tuning_of(context, function, operations);
  if (!tuning) return kSuccess;
  const TunedChoice choice = tuning->at(bytes);
  if (choice.algorithm < 0 || choice.algorithm >= algorithms || choice.protocol >= protocols)
    return kSuccess;
  float& cost = reinterpret_cast<float*>(costs)[choice.algorithm * protocols + choice.protocol];
  if (cost < 0) return kSuccess;
  cost = 0;
  if (choice.channels) *channels = choice.channels;
  return kSuccess;
}

// Ranks may differ in what they have registered, so that nothing is decided by it.
Result choose_v4(void* context, int function, std::size_t bytes, int operations, float** costs,
                 int algorithms, int protocols, int, int* channels) {
  return choose_v3(context, function, bytes, operations, costs, algorithms, protocols, channels);
}

Result finalize_tuner(void*) { return kSuccess; }

}  // namespace
}  // namespace railgauge::nccl_plugin

// Why the plugin would refuse a table; null: it would not. For railgauge's command line, on one
// thread: the answer holds until the next.
extern "C" __attribute__((visibility("default"))) const char* railgauge_why_not_tuned(
    const char* path) {
  static railgauge::nccl_plugin::Tuning tuning;
  return tuning.load(path, {true, 0});
}

#define RAILGAUGE_EXPORTED extern "C" __attribute__((visibility("default"))) const
namespace plugin = railgauge::nccl_plugin;
RAILGAUGE_EXPORTED plugin::Tuner_v2 ncclTunerPlugin_v2 = {
    "railgauge", plugin::init_tuner_v2, plugin::choose_v2, plugin::finalize_tuner};
RAILGAUGE_EXPORTED plugin::Tuner_v3 ncclTunerPlugin_v3 = {
    "railgauge", plugin::init_tuner_v3, plugin::choose_v3, plugin::finalize_tuner};
RAILGAUGE_EXPORTED plugin::Tuner_v4 ncclTunerPlugin_v4 = {
    "railgauge", plugin::init_tuner_v3, plugin::choose_v4, plugin::finalize_tuner};
RAILGAUGE_EXPORTED plugin::Tuner_v5 ncclTunerPlugin_v5 = {
    "railgauge", plugin::init_tuner_v5, plugin::choose_v4, plugin::finalize_tuner};
RAILGAUGE_EXPORTED plugin::Tuner_v6 ncclTunerPlugin_v6 = {
    "railgauge", plugin::init_tuner_v5, plugin::choose_v4, plugin::finalize_tuner, nullptr};
#undef RAILGAUGE_EXPORTED
