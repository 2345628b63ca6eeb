// SPDX-License-Identifier: Apache-2.0
// What NCCL passes to its profiler and environment plugins, release by release, in our own words:
// layouts for x86-64 and aarch64, whose offsets are asserted below. Source: NCCL's documentation of
// its plugins. NCCL 2.23 has profiler v1, 2.24 v2, 2.26 v3, 2.27 v4, 2.28 v5, 2.29 and later v6;
// env v1 came with 2.28.8, v2 with 2.30.7.
#pragma once

#include <cstddef>
#include <cstdint>

namespace railgauge::nccl_plugin {

using Result = int;
inline constexpr Result kSuccess = 0, kSystemError = 2;

// The debug levels and subsystems that we log at.
using Logger = void (*)(int level, unsigned long subsystems, const char* file, int line,
                        const char* format, ...);
inline constexpr int kLogWarn = 2, kLogInfo = 3;
inline constexpr unsigned long kLogInit = 1;

// Kinds of events, as bits of the activation mask.
enum Event : std::uint64_t {
  kGroup = 1 << 0,
  kCollective = 1 << 1,
  kMessage = 1 << 2,
  kProxyOperation = 1 << 3,
  kProxyStep = 1 << 4,
  kKernelChannel = 1 << 6,
  kNetwork = 1 << 7,
  kGroupCall = 1 << 8,
  kCollectiveCall = 1 << 9,
  kMessageCall = 1 << 10,
  kKernelLaunch = 1 << 11,
  kCopyEngine = 1 << 12,
};

// States that events pass.
enum EventState : int {
  kSendTransmitted_v1 = 2,
  kReceiveReceived_v1 = 5,
  kSendGpuWait = 8,
  kSendWait = 9,
  kReceiveWait = 10,
  kReceiveFlushWait = 11,
  kReceiveGpuWait = 12,
  kSendPeerWait = 20,
  kKernelChannelStop = 22,
};

struct ProxyOperation {
  int pid;
  std::uint8_t channel;
  int peer, steps, chunk_bytes, is_send;
};
struct ProxyStep {
  int step;
};
struct NetworkEvent {
  std::int64_t id;
  void* data;
};
struct GroupCall {
  bool captured;
  int depth;
};
struct CollectiveCall {
  const char* func;
  std::size_t count;
  const char* dtype;
  int root;
  void* stream;
  bool captured;
};
struct MessageCall {
  const char* func;
  std::size_t count;
  const char* dtype;
  void* stream;
  bool captured;
};
struct Launch {
  void* stream;
};
struct KernelChannel_v3 {
  std::uint8_t channel;
};
struct KernelChannel {
  std::uint8_t channel;
  std::uint64_t gpu_ns;
};

struct Collective_v1 {
  const char* name;
  std::uint64_t comm, seq;
  std::uint8_t func;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  std::uint8_t dtype;
  std::uint32_t op;
  std::size_t traffic;
  std::uint8_t channels, warps, algorithm, protocol;
  int is_collnet, is_nvls;
};
struct Collective_v2 {
  const char* name;
  std::uint64_t comm, seq;
  const char* func;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* dtype;
  std::size_t traffic;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
};
struct Collective_v3 {
  const char* name;
  std::uint64_t comm, seq;
  const char* func;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* dtype;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
};
struct Collective_v4 {
  std::uint64_t seq;
  const char* func;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* dtype;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
};
struct Message_v1 {
  const char* name;
  std::uint64_t comm;
  std::uint8_t func;
  void* buffer;
  std::uint8_t dtype;
  std::size_t count;
  int peer;
};
struct Message_v2 {
  const char* name;
  std::uint64_t comm;
  const char* func;
  void* buffer;
  const char* dtype;
  std::size_t count;
  int peer;
};
struct Message_v4 {
  const char* func;
  void* buffer;
  const char* dtype;
  std::size_t count;
  int peer;
  std::uint8_t channels;
};
// v6 only: the copy engines move it, no kernel does.
struct CopyEngine {
  std::uint64_t seq;
  const char* func;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* dtype;
  const char* strategy;
  bool intra_batch;
  std::uint32_t batch, batches, copy_seq;
  void* stream;
};

template <class Collective, class Message, class Kernel>
struct EventOf {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    Collective collective;
    Message message;
    ProxyOperation operation;
    ProxyStep step;
    Kernel kernel;
    NetworkEvent network;
  };
};
// v5 appends a pointer to a collective and a message, which we have no use for; v6 adds copy
// engines.
struct Event_v5 {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    GroupCall group_call;
    CollectiveCall collective_call;
    MessageCall message_call;
    Launch launch;
    Collective_v4 collective;
    Message_v4 message;
    ProxyOperation operation;
    ProxyStep step;
    KernelChannel kernel;
    NetworkEvent network;
    CopyEngine copy_engine;
  };
};

using Event_v1 = EventOf<Collective_v1, Message_v1, KernelChannel_v3>;
using Event_v2 = EventOf<Collective_v2, Message_v2, KernelChannel_v3>;
using Event_v3 = EventOf<Collective_v3, Message_v2, KernelChannel_v3>;
using Event_v4 = EventOf<Collective_v4, Message_v4, KernelChannel>;
using Event_v6 = Event_v5;

// Before v4 a size or a number; from v4 on a size, a pointer or a time of the GPU: 8 bytes at
// offset 0.
union StateArguments {
  std::uint64_t bytes;
  void* data;
  std::uint64_t gpu_ns;
};

// What the network plugins report by kNetwork; the id has the type above 16 bits of version.
inline constexpr std::int64_t kIb = (1 << 16) | 1, kSocket = (2 << 16) | 1;
struct QueuePairEvent {
  std::uint8_t type;
  struct {
    int device;
    std::uint64_t request;
    int opcode, queue_pair;
    std::size_t bytes;
  } work;
};
struct SocketEvent {
  std::uint8_t type;
  struct {
    int fd, operation;
    std::size_t bytes;
  } work;
};

template <class E>
struct Profiler_v1 {
  const char* name;
  Result (*init)(void** context, int* mask);
  Result (*start)(void* context, void** handle, E* event);
  Result (*stop)(void* handle);
  Result (*state)(void* handle, int state, StateArguments* arguments);
  Result (*finalize)(void* context);
};
template <class E>
struct Profiler_v4 {
  const char* name;
  Result (*init)(void** context, int* mask, const char* comm_name, std::uint64_t comm, int nodes,
                 int ranks, int rank, Logger log);
  Result (*start)(void* context, void** handle, E* event);
  Result (*stop)(void* handle);
  Result (*state)(void* handle, int state, StateArguments* arguments);
  Result (*finalize)(void* context);
};
template <class E>
struct Profiler_v5 {
  const char* name;
  Result (*init)(void** context, std::uint64_t comm, int* mask, const char* comm_name, int nodes,
                 int ranks, int rank, Logger log);
  Result (*start)(void* context, void** handle, E* event);
  Result (*stop)(void* handle);
  Result (*state)(void* handle, int state, StateArguments* arguments);
  Result (*finalize)(void* context);
};

struct Environment_v1 {
  const char* name;
  Result (*init)(std::uint8_t major, std::uint8_t minor, std::uint8_t patch, const char* suffix);
  Result (*finalize)();
  const char* (*get)(const char* name);
};
struct Environment_v2 {
  const char* name;
  Result (*init)(std::uint8_t major, std::uint8_t minor, std::uint8_t patch, const char* suffix,
                 Logger log);
  Result (*finalize)();
  const char* (*get)(const char* name);
};

#define RAILGAUGE_AT(type, member, offset) static_assert(offsetof(type, member) == (offset))
RAILGAUGE_AT(Event_v1, parent, 8);
RAILGAUGE_AT(Event_v1, rank, 16);
RAILGAUGE_AT(Event_v1, collective, 24);
RAILGAUGE_AT(Event_v4, collective, 24);
RAILGAUGE_AT(Event_v5, parent, 8);
RAILGAUGE_AT(Event_v5, collective, 24);
RAILGAUGE_AT(Collective_v1, func, 24);
RAILGAUGE_AT(Collective_v1, count, 48);
RAILGAUGE_AT(Collective_v1, dtype, 60);
RAILGAUGE_AT(Collective_v1, traffic, 72);
RAILGAUGE_AT(Collective_v1, algorithm, 82);
RAILGAUGE_AT(Collective_v1, is_nvls, 88);
RAILGAUGE_AT(Collective_v2, dtype, 64);
RAILGAUGE_AT(Collective_v2, channels, 80);
RAILGAUGE_AT(Collective_v2, algorithm, 88);
RAILGAUGE_AT(Collective_v3, channels, 72);
RAILGAUGE_AT(Collective_v3, protocol, 88);
RAILGAUGE_AT(Collective_v4, count, 32);
RAILGAUGE_AT(Collective_v4, root, 40);
RAILGAUGE_AT(Collective_v4, dtype, 48);
RAILGAUGE_AT(Collective_v4, channels, 56);
RAILGAUGE_AT(Collective_v4, protocol, 72);
RAILGAUGE_AT(Message_v1, dtype, 32);
RAILGAUGE_AT(Message_v1, count, 40);
RAILGAUGE_AT(Message_v1, peer, 48);
RAILGAUGE_AT(Message_v2, peer, 48);
RAILGAUGE_AT(Message_v4, count, 24);
RAILGAUGE_AT(Message_v4, channels, 36);
RAILGAUGE_AT(CollectiveCall, root, 24);
RAILGAUGE_AT(CollectiveCall, captured, 40);
RAILGAUGE_AT(MessageCall, captured, 32);
RAILGAUGE_AT(ProxyOperation, peer, 8);
RAILGAUGE_AT(ProxyOperation, is_send, 20);
RAILGAUGE_AT(KernelChannel, gpu_ns, 8);
RAILGAUGE_AT(CopyEngine, strategy, 56);
RAILGAUGE_AT(CopyEngine, batch, 68);
RAILGAUGE_AT(CopyEngine, stream, 80);
RAILGAUGE_AT(QueuePairEvent, work.request, 16);
RAILGAUGE_AT(QueuePairEvent, work.queue_pair, 28);
RAILGAUGE_AT(QueuePairEvent, work.bytes, 32);
RAILGAUGE_AT(SocketEvent, work.bytes, 16);
#undef RAILGAUGE_AT
static_assert(sizeof(Profiler_v5<Event_v5>) == 48 && sizeof(Environment_v2) == 32);

}  // namespace railgauge::nccl_plugin
