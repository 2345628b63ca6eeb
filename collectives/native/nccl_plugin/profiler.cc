// SPDX-License-Identifier: Apache-2.0
// The profiler plugins by the names that NCCL looks for. Only init may return an error; an event
// that cannot be recorded has no handle, and NCCL goes on.
#include <string.h>

#include <concepts>
#include <type_traits>

#include "collectives/native/nccl_plugin/abi.h"
#include "collectives/native/nccl_plugin/process.h"
#include "collectives/native/nccl_plugin/recording.h"

namespace railgauge::nccl_plugin {
namespace {

// The numbers of NCCL 2.23, whose events have no names.
constexpr const char* kFunctions_v1[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                         "AllReduce", "SendRecv", "Send",      "Recv"};
constexpr const char* kDtypes_v1[] = {"ncclInt8",    "ncclUint8",   "ncclInt32",   "ncclUint32",
                                      "ncclInt64",   "ncclUint64",  "ncclFloat16", "ncclFloat32",
                                      "ncclFloat64", "ncclBfloat16"};
constexpr const char* kAlgorithms_v1[] = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
constexpr const char* kProtocols_v1[] = {"LL", "LL128", "SIMPLE"};

template <std::size_t N>
const char* named(const char* const (&names)[N], std::uint8_t number) {
  return number < N ? names[number] : nullptr;
}
template <std::size_t N>
const char* named(const char* const (&)[N], const char* name) {
  return name;
}

// Of an event that NCCL needs a handle for, and we no record of: no record has such a number.
void* const kUnrecorded = reinterpret_cast<void*>(~std::uintptr_t{0});

std::atomic<Recording*> recording_{nullptr};
std::atomic<int*> mask_{nullptr};
std::atomic<std::int32_t> process_{0};

int mask_of(std::uint32_t level) {
  std::uint64_t mask = kCollectiveCall | kMessageCall;
  if (level >= kLevelOp) mask |= kCollective | kMessage | kKernelLaunch | kCopyEngine;
  if (level >= kLevelChannel) mask |= kKernelChannel;
  if (level >= kLevelNet) mask |= kProxyOperation | kProxyStep | kNetwork;
  return static_cast<int>(mask);
}

std::uint8_t slot_of(void* context) {
  return static_cast<std::uint8_t>(reinterpret_cast<std::uintptr_t>(context) - 1);
}
std::uint64_t number_of(void* handle) { return reinterpret_cast<std::uint64_t>(handle); }

Result fail(Logger log, const char* why) {
  if (log) log(kLogWarn, kLogInit, __FILE__, __LINE__, "railgauge: not recording: %s", why);
  return kSystemError;
}

// A new communicator; before v4 NCCL tells its hash and rank with the first event only.
Result init(void** context, int* mask, std::uint32_t api, std::uint64_t hash, const char* name,
            int nodes, int ranks, int rank, Logger log) {
  *context = nullptr;
  const char* why = nullptr;
  Recording* recording = Recording::of_process(&why);
  if (!recording || !recording->make_ring(&why)) return fail(log, why);
  FileHeader& header = recording->header();
  header.profiler = api;
  if (!header.nccl) header.nccl = nccl_release();
  recording_.store(recording, std::memory_order_release);
  process_ = header.pid;
  const std::uint8_t slot = recording->open_communicator();
  RecordedCommunicator& communicator = recording->tables().communicators[slot];
  if (slot != kNone) {
    communicator.rank = rank;
    communicator.size = ranks;
    communicator.nodes = nodes;
    communicator.hash = hash;
    if (name) strncpy(communicator.name, name, sizeof communicator.name - 1);
    gpu_bus_id(communicator.bus_id, sizeof communicator.bus_id);
  }
  *context = reinterpret_cast<void*>(std::uintptr_t{slot} + 1);
  // NCCL before 2.28 has no calls: what is enqueued stands for them.
  const int calls = api < 5 && header.level == kLevelCall ? kCollective | kMessage : 0;
  __atomic_store_n(mask, mask_of(header.level) | calls, __ATOMIC_RELAXED);
  mask_.store(mask, std::memory_order_release);
  if (log)
    log(kLogInfo, kLogInit, __FILE__, __LINE__, "railgauge: recording rank %d of %d", rank, ranks);
  return kSuccess;
}

// With --every, GPU timers are switched on for the Nth collective of a communicator before it is
// called. The same ones on all its ranks.
void choose_next(const FileHeader& header, std::uint64_t number) {
  int* mask = mask_.load(std::memory_order_acquire);
  if (header.every < 2 || header.level < kLevelChannel || !mask) return;
  const int all = mask_of(header.level);
  const int now = (number + 1) % header.every == 0 ? all : all & ~static_cast<int>(kKernelChannel);
  __atomic_store_n(mask, now, __ATOMIC_RELAXED);
}

template <class C>
void describe(Recording& recording, NewRecord& entry, const C& event) {
  entry.function = recording.name(Table::kFunction, named(kFunctions_v1, event.func));
  entry.dtype = recording.name(Table::kDtype, named(kDtypes_v1, event.dtype));
  entry.a = event.count;
}

bool is_captured(Recording& recording, std::uint64_t parent) {
  const Record* record = recording.find(parent);
  return record && (record->what.load(std::memory_order_relaxed) >> 8 & kCaptured);
}

// The number of a collective in its communicator, from 1. Those of a captured graph have none: NCCL
// repeats their number, and does not tell of all their runs.
std::uint64_t numbered(Recording& recording, NewRecord& entry) {
  if (entry.communicator == kNone) return 0;
  if (is_captured(recording, entry.parent)) {
    entry.flags |= kCaptured;
    return 0;
  }
  const std::uint64_t number =
      recording.communicator(entry.communicator).operations.fetch_add(1, std::memory_order_relaxed);
  choose_next(recording.header(), number + 1);
  return number + 1;
}

template <class C>
void collective(Recording& recording, NewRecord& entry, const C& event, int rank) {
  describe(recording, entry, event);
  if constexpr (requires { event.algorithm; }) {
    entry.algorithm = recording.name(Table::kAlgorithm, named(kAlgorithms_v1, event.algorithm));
    entry.protocol = recording.name(Table::kProtocol, named(kProtocols_v1, event.protocol));
    entry.channels = event.channels;
  }
  entry.b = event.seq;
  constexpr std::uint64_t kNumber = (std::uint64_t{1} << 40) - 1;
  entry.c = (numbered(recording, entry) & kNumber) |
            static_cast<std::uint64_t>(static_cast<std::uint32_t>(event.root) & 0xffffff) << 40;
}

template <class C>
void place(Recording& recording, std::uint8_t slot, const C& event, int rank) {
  if constexpr (requires { event.comm; }) {
    RecordedCommunicator& communicator = recording.tables().communicators[slot];
    if (communicator.rank.load(std::memory_order_relaxed) >= 0 || slot == kNone) return;
    if (event.name) strncpy(communicator.name, event.name, sizeof communicator.name - 1);
    communicator.hash = event.comm;
    communicator.rank = rank;
  }
}

template <class E>
std::uint64_t begin(Recording& recording, std::uint8_t slot, const E& event) {
  NewRecord entry{};
  entry.communicator = slot;
  entry.parent = number_of(event.parent);
  switch (event.type) {
    case kCollective:
      entry.kind = Kind::kCollective;
      place(recording, slot, event.collective, event.rank);
      collective(recording, entry, event.collective, event.rank);
      break;
    case kMessage:
      entry.kind = Kind::kMessage;
      place(recording, slot, event.message, event.rank);
      describe(recording, entry, event.message);
      if constexpr (requires { event.message.channels; }) entry.channels = event.message.channels;
      entry.b = static_cast<std::uint32_t>(event.message.peer);
      break;
    case kProxyOperation: {
      const ProxyOperation& operation = event.operation;
      entry.kind = Kind::kOperation;
      entry.flags = operation.is_send ? kSends : 0;
      if (operation.pid != process_.load(std::memory_order_relaxed))
        entry.flags |= kForeignParent, entry.parent = 0;
      entry.a = static_cast<std::uint32_t>(operation.peer) | std::uint64_t{operation.channel} << 32;
      entry.b = static_cast<std::uint32_t>(operation.steps) |
                static_cast<std::uint64_t>(operation.chunk_bytes) << 32;
      break;
    }
    case kProxyStep:
      entry.kind = Kind::kStep;
      entry.a = static_cast<std::uint32_t>(event.step.step);
      break;
    case kKernelChannel:
      entry.kind = Kind::kChannel;
      entry.a = event.kernel.channel;
      if constexpr (requires { event.kernel.gpu_ns; }) entry.b = event.kernel.gpu_ns;
      break;
    case kNetwork:
      entry.kind = Kind::kNetwork;
      entry.a = static_cast<std::uint32_t>(event.network.id);
      if (event.network.id == kIb && event.network.data) {
        const auto& work = static_cast<const QueuePairEvent*>(event.network.data)->work;
        entry.a |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(work.device)) << 32;
        entry.b = work.bytes;
        entry.c = static_cast<std::uint32_t>(work.queue_pair);
      } else if (event.network.id == kSocket && event.network.data) {
        const auto& work = static_cast<const SocketEvent*>(event.network.data)->work;
        entry.a |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(work.fd)) << 32;
        entry.b = work.bytes;
      }
      break;
    default:
      if constexpr (requires { event.collective_call; }) switch (event.type) {
          case kCollectiveCall:
            entry.kind = Kind::kCall;
            describe(recording, entry, event.collective_call);
            entry.flags = event.collective_call.captured ? kCaptured : 0;
            entry.b = static_cast<std::uint32_t>(event.collective_call.root);
            entry.c = number_of(event.collective_call.stream);
            entry.parent = 0;  // the group, which is not recorded
            break;
          case kMessageCall:
            entry.kind = Kind::kCall;
            describe(recording, entry, event.message_call);
            entry.flags = event.message_call.captured ? kCaptured : 0;
            entry.c = number_of(event.message_call.stream);
            entry.parent = 0;
            break;
          case kKernelLaunch:
            entry.kind = Kind::kLaunch;
            entry.c = number_of(event.launch.stream);
            entry.parent = 0;
            break;
          case kCopyEngine:
            entry.kind = Kind::kCopyEngine;
            collective(recording, entry, event.copy_engine, event.rank);
            break;
          default:
            return number_of(kUnrecorded);
        }
      else
        return number_of(kUnrecorded);
  }
  return recording.begin(entry);
}

template <class E>
Result start(void* context, void** handle, E* event) {
  *handle = nullptr;
  Recording* recording = recording_.load(std::memory_order_acquire);
  if (recording && context)
    *handle = reinterpret_cast<void*>(begin(*recording, slot_of(context), *event));
  return kSuccess;
}

Result stop(void* handle) {
  if (Recording* recording = recording_.load(std::memory_order_acquire))
    recording->end(number_of(handle));
  return kSuccess;
}

// A word of the record's c, its half that is still 0: ns since the start.
void mark(Record& record, int shift) {
  const std::uint64_t since = now_ns() - record.start_ns.load(std::memory_order_relaxed);
  const std::uint64_t most = 0xffffffff;
  const std::uint64_t known = record.c.load(std::memory_order_relaxed);
  if (!(known >> shift & most))
    record.c.store(known | (since < most ? since + 1 : most) << shift, std::memory_order_relaxed);
}

void add_bytes(Recording& recording, Record& step, std::uint64_t bytes) {
  if (!bytes || step.b.load(std::memory_order_relaxed)) return;
  step.b.store(bytes, std::memory_order_relaxed);
  if (Record* operation = recording.find(step.parent.load(std::memory_order_relaxed)))
    operation->c.fetch_add(bytes, std::memory_order_relaxed);
}

template <bool has_bytes>
Result state(void* handle, int state, StateArguments* arguments) {
  Recording* recording = recording_.load(std::memory_order_acquire);
  Record* record = recording ? recording->find(number_of(handle)) : nullptr;
  if (!record || !arguments) return kSuccess;
  switch (state) {
    case kSendTransmitted_v1:
    case kReceiveReceived_v1:
      if (!has_bytes) record->c.store(arguments->bytes, std::memory_order_relaxed);  // so far
      break;
    case kSendWait:
      mark(*record, 0);
      if (has_bytes) add_bytes(*recording, *record, arguments->bytes);
      break;
    case kReceiveWait:
      mark(*record, 0);
      break;
    case kReceiveFlushWait:
    case kReceiveGpuWait:
      mark(*record, 32);
      if (has_bytes) add_bytes(*recording, *record, arguments->bytes);
      break;
    case kKernelChannelStop:
      record->c.store(arguments->gpu_ns, std::memory_order_relaxed);
      break;
    default:
      break;
  }
  return kSuccess;
}

Result finalize(void* context) {
  Recording* recording = recording_.load(std::memory_order_acquire);
  if (!recording || !context) return kSuccess;
  RecordedCommunicator& communicator = recording->tables().communicators[slot_of(context)];
  communicator.finalized_ns = now_ns();
  communicator.state = 2;
  recording->mark_clocks();
  return kSuccess;
}

template <int api>
Result init_v1(void** context, int* mask) {
  return init(context, mask, api, 0, nullptr, -1, -1, -1, nullptr);
}
Result init_v4(void** context, int* mask, const char* name, std::uint64_t hash, int nodes,
               int ranks, int rank, Logger log) {
  return init(context, mask, 4, hash, name, nodes, ranks, rank, log);
}
template <int api>
Result init_v5(void** context, std::uint64_t hash, int* mask, const char* name, int nodes,
               int ranks, int rank, Logger log) {
  return init(context, mask, api, hash, name, nodes, ranks, rank, log);
}

}  // namespace
}  // namespace railgauge::nccl_plugin

#define RAILGAUGE_EXPORTED extern "C" __attribute__((visibility("default"))) const
namespace plugin = railgauge::nccl_plugin;
RAILGAUGE_EXPORTED plugin::Profiler_v1<plugin::Event_v1> ncclProfiler_v1 = {
    "railgauge",  plugin::init_v1<1>,   plugin::start,
    plugin::stop, plugin::state<false>, plugin::finalize};
RAILGAUGE_EXPORTED plugin::Profiler_v1<plugin::Event_v2> ncclProfiler_v2 = {
    "railgauge",  plugin::init_v1<2>,   plugin::start,
    plugin::stop, plugin::state<false>, plugin::finalize};
RAILGAUGE_EXPORTED plugin::Profiler_v1<plugin::Event_v3> ncclProfiler_v3 = {
    "railgauge",  plugin::init_v1<3>,   plugin::start,
    plugin::stop, plugin::state<false>, plugin::finalize};
RAILGAUGE_EXPORTED plugin::Profiler_v4<plugin::Event_v4> ncclProfiler_v4 = {
    "railgauge",  plugin::init_v4,     plugin::start,
    plugin::stop, plugin::state<true>, plugin::finalize};
RAILGAUGE_EXPORTED plugin::Profiler_v5<plugin::Event_v5> ncclProfiler_v5 = {
    "railgauge",  plugin::init_v5<5>,  plugin::start,
    plugin::stop, plugin::state<true>, plugin::finalize};
RAILGAUGE_EXPORTED plugin::Profiler_v5<plugin::Event_v6> ncclProfiler_v6 = {
    "railgauge",  plugin::init_v5<6>,  plugin::start,
    plugin::stop, plugin::state<true>, plugin::finalize};
#undef RAILGAUGE_EXPORTED
