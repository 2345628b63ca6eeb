// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/engine.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "collectives/native/gpu/exchange.h"
#include "collectives/native/gpu/fatbins.h"

namespace railgauge::gpu {

namespace {

constexpr int kProcessorCount = 16;            // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
constexpr unsigned kMappedEverywhere = 1 | 2;  // CU_MEMHOSTALLOC_PORTABLE, _DEVICEMAP
constexpr unsigned kEnablePeerAccess = 1;      // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
constexpr double kPatience = 5;  // s: kernels end by themselves once the timeout is over
constexpr cuda::Result kPeerAccessAlreadyEnabled = 704;
constexpr std::size_t kLowLatencyBytes = 256 << 10;
constexpr std::size_t kLowLatencyOfABlock = 4 << 10, kPushOfABlock = 8 << 10,
                      kFullLinesOfABlock = 2 << 10;
constexpr unsigned kLowLatencyThreads = 512, kPushThreads = 640;

unsigned divided(std::size_t bytes, std::size_t each, unsigned most) {
  return std::clamp<std::size_t>((bytes + each - 1) / each, 1, most);
}

// What reduces nothing moves bits: elements as numbers without a sign, which no rounding touches.
Operation as_moved(Operation operation) {
  const std::size_t size = operation.element_bytes();
  operation.dtype = size == 8 ? Dtype::kUint64 : size == 4 ? Dtype::kUint32 : Dtype::kUint8;
  operation.count *= size / operation.element_bytes();
  operation.op = Redop::kSum;
  return operation;
}

}  // namespace

Engine::Engine(int device, int rank, int ranks, double timeout_s) : timeout_s_(timeout_s) {
  if (ranks < 1 || ranks > kMostRanks || rank < 0 || rank >= ranks) {
    throw Error(ErrorCode::kInvalid, "a GPU engine is of 1 to 8 ranks");
  }
  cuda_.check(cuda_.device_get(&device_, device), "GPU " + std::to_string(device));
  cuda_.check(cuda_.context_retain(&context_, device_), "opening GPU " + std::to_string(device));
  const cuda::Current current(context_);
  cuda_.check(cuda_.device_attribute(&processors_, kProcessorCount, device_), "asking a GPU");
  const std::size_t size = segment_bytes(ranks);
  cuda_.check(cuda_.memory_allocate(&segment_, size),
              "taking " + std::to_string(size) + " bytes of GPU " + std::to_string(device));
  cuda_.check(cuda_.memory_set(segment_, 0, size), "clearing memory of a GPU");
  void* status = nullptr;
  cuda_.check(cuda_.host_allocate(&status, sizeof(Status), kMappedEverywhere),
              "pinning host memory");
  status_ = static_cast<Status*>(status);
  *status_ = {};
  clock_.emplace(context_);
  arguments_.rank = rank;
  arguments_.ranks = ranks;
  arguments_.status = status_;
  arguments_.timeout_ns = static_cast<std::uint64_t>(timeout_s * 1e9);
}

Engine::~Engine() {
  const cuda::Current current(context_);
  for (const cuda::Pointer one : mapped_) cuda_.ipc_close(one);
  for (const cuda::Device one : retained_) cuda_.context_release(one);
  cuda_.memory_free(segment_);
  clock_.reset();
  for (cuda::Module module : modules_) {
    if (module) cuda_.module_unload(module);
  }
  cuda_.host_free(status_);
  cuda_.context_release(device_);
}

Lent Engine::lent() const {
  const cuda::Current current(context_);
  Lent lent{};
  lent.process = getpid();
  lent.segment = segment_;
  cuda_.check(cuda_.ipc_export(&lent.handle, segment_),
              "lending memory of a GPU to other processes");
  cuda_.check(cuda_.device_bus_id(lent.bus_id, sizeof lent.bus_id, device_),
              "asking a GPU for its bus id");
  return lent;
}

void Engine::connect(const std::vector<Lent>& lent) {
  if (lent.size() != static_cast<std::size_t>(arguments_.ranks)) {
    throw Error(ErrorCode::kInvalid, "what every rank lends is needed");
  }
  const cuda::Current current(context_);
  for (int peer = 0; peer < arguments_.ranks; ++peer) {
    arguments_.segment[peer] =
        reinterpret_cast<char*>(map(lent[peer], peer, lent[arguments_.rank]));
  }
}

cuda::Pointer Engine::map(const Lent& lent, int peer, const Lent& own) {
  if (peer == arguments_.rank) return segment_;
  const std::string whom = "the GPU of rank " + std::to_string(peer) + " (" + lent.bus_id + ")";
  if (!std::strcmp(lent.bus_id, own.bus_id)) {
    throw Error(ErrorCode::kInvalid, whom + " is that of rank " + std::to_string(arguments_.rank) +
                                         " too: give each rank its own");
  }
  if (lent.process == own.process) {
    cuda::Device device;
    cuda::Context context;
    cuda_.check(cuda_.device_by_bus_id(&device, lent.bus_id), "finding " + whom);
    cuda_.check(cuda_.context_retain(&context, device), "opening " + whom);
    retained_.push_back(device);
    const cuda::Result result = cuda_.enable_peer_access(context, 0);
    if (result != kPeerAccessAlreadyEnabled) cuda_.check(result, "reaching " + whom);
    return lent.segment;
  }
  cuda::Pointer there;
  cuda_.check(cuda_.ipc_import(&there, lent.handle, kEnablePeerAccess),
              "mapping memory of " + whom);
  mapped_.push_back(there);
  return there;
}

Way Engine::way(const Operation& operation) const {
  const int ranks = arguments_.ranks;
  if (longest(operation, ranks, false) <= kLowLatencyBytes) return Way::kLowLatency;
  const bool fits = longest(operation, ranks, true) <= full_lines(ranks) * kFullLineData;
  return fits ? Way::kFullLines : Way::kPush;
}

void Engine::run(const Operation& asked, cuda::Stream stream, Way way, int blocks,
                 std::uint32_t chunk_bytes) {
  const Operation operation = asked.reduces() ? asked : as_moved(asked);
  const bool two_steps = way != Way::kLowLatency;
  Arguments arguments = arguments_;
  arguments.exchange =
      (two_steps ? in_two_steps : in_one_step)(operation, arguments.rank, arguments.ranks);
  const std::size_t bytes = longest(operation, arguments.ranks, two_steps);
  unsigned grid, threads;
  if (way == Way::kLowLatency) {
    grid = blocks ? blocks : divided(bytes, kLowLatencyOfABlock, kMostLineBlocks);
    grid = std::max(grid, divided(bytes, kLineBytes, kMostLineBlocks + 1));
    if (grid > kMostLineBlocks)
      throw Error(ErrorCode::kInvalid, "too long for the low-latency kernel");
    threads = kLowLatencyThreads;
  } else if (way == Way::kFullLines) {
    if (bytes > full_lines(arguments.ranks) * kFullLineData)
      throw Error(ErrorCode::kInvalid, "too long for full lines");
    grid = blocks ? blocks : divided(bytes, kFullLinesOfABlock, processors_);
    threads = kLowLatencyThreads;
  } else {
    const unsigned most = std::min<unsigned>(kMostBlocks, processors_);
    grid = std::min(blocks ? blocks : divided(bytes, kPushOfABlock, most), most);
    threads = kPushThreads;
    const std::size_t half = (bytes / grid / 2 + 511) / 512 * 512;
    arguments.chunk_bytes = chunk_bytes ? std::min<std::size_t>(chunk_bytes, kSlotBytes)
                                        : std::clamp<std::size_t>(half, 16 << 10, kSlotBytes);
  }
  const cuda::Current current(context_);
  void* parameters[] = {&arguments};
  cuda_.check(cuda_.launch(function(operation, way), grid, 1, 1, threads, 1, 1, 0, stream,
                           parameters, nullptr),
              std::string("starting ") + collective_name(operation.collective));
}

double Engine::repeat(const Operation& operation, int ahead, int times, int replays) {
  const Way due = way(operation);
  const auto launch = [&](cuda::Stream stream) { run(operation, stream, due, 0, 0); };
  const double seconds = clock_->time(launch, ahead, times, replays, timeout_s_ + kPatience);
  check();
  return seconds;
}

void Engine::check() const {
  const volatile Status* status = status_;
  if (const std::uint32_t failed = status->failed) {
    throw PeerLost("rank " + std::to_string(failed - 1) + " did not take part within the timeout",
                   failed - 1);
  }
}

void Engine::synchronize(cuda::Stream stream) const {
  const cuda::Current current(context_);
  cuda_.check(cuda_.stream_synchronize(stream), "waiting for a GPU");
  check();
}

cuda::Function Engine::function(const Operation& operation, Way way) {
  const Dtype dtype = operation.dtype;
  cuda::Module& module = modules_[static_cast<int>(dtype)];
  if (!module) {
    const void* image = fatbin(dtype);
    if (!image)
      throw Error(ErrorCode::kSystem, "this build has no GPU kernels: it was made without nvcc");
    cuda_.check(cuda_.module_load(&module, image),
                std::string("loading the kernels for ") + dtype_name(dtype));
  }
  static constexpr const char* kOps[kRedops] = {"sum", "prod", "min", "max", "sum"};
  static constexpr const char* kWays[] = {"low_latency_", "push_", "full_lines_"};
  const std::string name =
      std::string(kWays[static_cast<int>(way)]) + kOps[static_cast<int>(operation.op)];
  cuda::Function function = nullptr;
  cuda_.check(cuda_.module_function(&function, module, name.c_str()), "finding the kernel " + name);
  return function;
}

}  // namespace railgauge::gpu
