// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/engine.h"

#include <algorithm>
#include <cstring>

#include "collectives/native/gpu/exchange.h"
#include "collectives/native/gpu/fatbins.h"

namespace railgauge::gpu {

namespace {

constexpr int kProcessorCount = 16;     // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
constexpr int kComputeCapability = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
constexpr int kOverlapFrom = 9;         // the first with griddepcontrol
constexpr int kOverlap = 6;             // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
constexpr unsigned kMappedEverywhere = 1 | 2;  // CU_MEMHOSTALLOC_PORTABLE, _DEVICEMAP
constexpr double kPatience = 5;  // s: kernels end by themselves once the timeout is over
constexpr std::size_t kLowLatencyBytes = 256 << 10;
// Through memory of the host, where a hand-over takes several microseconds: all_reduces of these
// sizes go around rings, which have the fewest at a time.
constexpr std::size_t kRingFromOnHost = 384 << 10, kRingUpToOnHost = 4 << 20;
// Of operations on registered memory, NCCL's count in bytes.
constexpr std::size_t kRegisteredFrom = 4 << 20, kCopiesFrom = 8 << 20;
constexpr std::size_t kOneStepBytes = 64 << 10;  // over a network
constexpr std::size_t kLowLatencyOfABlock = 4 << 10, kPushOfABlock = 8 << 10,
                      kFullLinesOfABlock = 2 << 10, kRingOfABlock = 64 << 10;
constexpr unsigned kPartsBlocks =
    64;  // the same on all ranks, which do not know each other's counts
constexpr unsigned kLowLatencyThreads = 512, kPushThreads = 640, kChannelThreads = 512;

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

std::optional<Round> round_of(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return Round::kAllReduce;
    case Collective::kReduce:
      return Round::kReduce;
    case Collective::kReduceScatter:
      return Round::kReduceScatter;
    case Collective::kAllGather:
      return Round::kAllGather;
    case Collective::kBroadcast:
      return Round::kBroadcast;
    default:
      return {};
  }
}

bool over_channels(const Choice& choice) {
  return choice.way == Way::kRing || choice.way == Way::kTree;
}

}  // namespace

Engine::Engine(int device, int rank, const Layout& layout, const std::vector<Via>& via,
               double timeout_s)
    : rank_(rank), layout_(layout), via_(via), timeout_s_(timeout_s), traffic_(via.size()) {
  if (rank < 0 || rank >= ranks() || via_[rank] != Via::kNone || layout.blocks > kMostBlocks ||
      layout.line_blocks > kMostBlocks) {
    throw Error(ErrorCode::kInvalid, "a GPU engine is of one of the ranks that it is given");
  }
  for (const Via one : via_) {
    has_net_ |= one == Via::kNet;
    all_in_gpus_ &= one == Via::kNone || one == Via::kDirect || one == Via::kIpc;
  }
  const std::string gpu = "GPU " + std::to_string(device);
  cuda_.check(cuda_.device_get(&device_, device), gpu);
  cuda_.check(cuda_.context_retain(&context_, device_), "opening " + gpu);
  const cuda::Current current(context_);
  cuda_.check(cuda_.device_attribute(&processors_, kProcessorCount, device_), "asking a GPU");
  int capability = 0;
  cuda_.check(cuda_.device_attribute(&capability, kComputeCapability, device_), "asking a GPU");
  overlaps_ = capability >= kOverlapFrom;
  cuda_.check(cuda_.memory_allocate(&memory_, sizeof(Memory)), "taking memory of " + gpu);
  cuda_.check(cuda_.memory_set(memory_, 0, sizeof(Memory)), "clearing memory of a GPU");
  void* status = nullptr;
  cuda_.check(cuda_.host_allocate(&status, sizeof(Status), kMappedEverywhere),
              "pinning host memory");
  status_ = static_cast<Status*>(status);
  *status_ = {};
  clock_.emplace(context_);
  peers_.emplace(context_, device_);
  boxes_.emplace(context_, *peers_, layout, via);
  if (all_in_gpus_ && ranks() > 1 && ranks() <= kMostRanks)
    windows_.emplace(context_, *peers_, via_, rank_);
}

Engine::~Engine() {
  const cuda::Current current(context_);
  couriers_.clear();
  windows_.reset();
  boxes_.reset();
  peers_.reset();
  clock_.reset();
  cuda_.memory_free(memory_);
  if (channels_) cuda_.memory_free(channels_);
  for (cuda::Module module : modules_) {
    if (module) cuda_.module_unload(module);
  }
  cuda_.host_free(status_);
  cuda_.context_release(device_);
}

void Engine::connect(const std::vector<Lent>& lent) { boxes_->open(lent); }

void Engine::carry(int lane, int rank, std::vector<std::shared_ptr<Sender>> to,
                   std::vector<std::shared_ptr<Receiver>> from) {
  if (rank < 0 || rank >= ranks() || via_[rank] != Via::kNet || to.empty() || from.empty() ||
      lane < 0 || lane >= static_cast<int>(layout_.blocks)) {
    throw Error(ErrorCode::kInvalid, "only a rank on another node has boxes to be carried");
  }
  for (const auto& sender : to) {
    if (sender->slot_bytes() < layout_.slot_bytes)
      throw Error(ErrorCode::kInvalid, "NCCL_BUFFSIZE is too small for GPUs: a slot has to hold " +
                                           std::to_string(layout_.slot_bytes) + " bytes");
  }
  routes_.resize(std::max<std::size_t>(routes_.size(), lane + 1));
  routes_[lane].push_back(
      {rank, boxes_->in_on_host(rank), boxes_->out_on_host(rank), std::move(to), std::move(from)});
}

void Engine::start(const std::vector<std::shared_ptr<Doorbell>>& doorbells) {
  const int lanes = static_cast<int>(routes_.size());
  for (int lane = 0; lane < lanes; ++lane) {
    couriers_.push_back(std::make_unique<Courier>(layout_, lane, lanes, std::move(routes_[lane]),
                                                  doorbells.at(lane), status_));
  }
}

void Engine::channels(const std::vector<PlannedChannel>& planned) {
  const std::size_t places = planned.size() * sizeof(Channel), order = ranks() * sizeof(int);
  const cuda::Current current(context_);
  cuda_.check(cuda_.memory_allocate(&channels_, places + planned.size() * order),
              "taking memory of a GPU");
  const auto in = [&](int rank) { return rank < 0 ? nullptr : boxes_->in(rank); };
  const auto out = [&](int rank) { return rank < 0 ? nullptr : boxes_->out(rank); };
  std::vector<Channel> channels;
  for (const PlannedChannel& one : planned) {
    const int place =
        static_cast<int>(std::find(one.ring.begin(), one.ring.end(), rank_) - one.ring.begin());
    if (one.ring.size() != via_.size() || one.parents.size() != via_.size() || place == ranks()) {
      throw Error(ErrorCode::kInvalid, "a channel is of all ranks");
    }
    Channel channel{};
    const cuda::Pointer at = channels_ + places + channels.size() * order;
    cuda_.check(cuda_.memory_write(at, one.ring.data(), order), "writing memory of a GPU");
    channel.position = place;
    channel.order = reinterpret_cast<const int*>(at);
    channel.previous = one.ring[(place + ranks() - 1) % ranks()];
    channel.next = one.ring[(place + 1) % ranks()];
    channel.parent = one.parents[rank_];
    std::fill_n(channel.child, kMostChildren, -1);
    int children = 0;
    for (int rank = 0; rank < ranks(); ++rank) {
      if (one.parents[rank] != rank_) continue;
      if (children == kMostChildren) throw Error(ErrorCode::kInvalid, "a tree of many children");
      channel.child[children++] = rank;
    }
    channel.from_previous = in(channel.previous), channel.to_previous = out(channel.previous);
    channel.from_next = in(channel.next), channel.to_next = out(channel.next);
    channel.from_parent = in(channel.parent), channel.to_parent = out(channel.parent);
    for (int i = 0; i < kMostChildren; ++i) {
      channel.from_child[i] = in(channel.child[i]), channel.to_child[i] = out(channel.child[i]);
    }
    channels.push_back(channel);
  }
  cuda_.check(cuda_.memory_write(channels_, channels.data(), places), "writing memory of a GPU");
  n_channels_ = static_cast<int>(planned.size());
  planned_ = planned;
}

void Engine::choose(Collective collective, std::vector<ChoiceUpTo> choices) {
  chosen_[static_cast<int>(collective)] = std::move(choices);
}

Choice Engine::choice(const Operation& operation) const {
  const std::size_t size = operation.count * operation.element_bytes();
  if (size >= kCopiesFrom && can(operation, Way::kCopies)) return {Way::kCopies};
  if (size >= kRegisteredFrom && can(operation, Way::kRegistered)) return {Way::kRegistered};
  for (const ChoiceUpTo& one : chosen_[static_cast<int>(operation.collective)]) {
    if (size <= one.bytes) return one.choice;
  }
  const bool direct = ranks() <= kMostRanks;
  const std::size_t bytes = longest(operation, ranks(), false);
  if (ranks() == 1) return {Way::kPush};
  if (has_net_) {
    const bool in_ring = n_channels_ && round_of(operation.collective);
    if (direct && (!in_ring || bytes <= kOneStepBytes)) return {Way::kPush};
    if (in_ring) return {Way::kRing};
    throw Error(ErrorCode::kInvalid, std::string(collective_name(operation.collective)) +
                                         " goes between " + std::to_string(kMostRanks) +
                                         " GPUs at most");
  }
  if (!direct) return {Way::kRing};
  if (!all_in_gpus_ && n_channels_ && operation.collective == Collective::kAllReduce &&
      bytes >= kRingFromOnHost && bytes <= kRingUpToOnHost) {
    return {Way::kRing, layout_.blocks};
  }
  if (bytes <= std::min(kLowLatencyBytes, layout_.line_blocks * kLineBytes)) {
    return {Way::kLowLatency};
  }
  const bool fits = longest(operation, ranks(), true) <= layout_.full_lines * kFullLineData;
  return {fits ? Way::kFullLines : Way::kPush};
}

bool Engine::can(const Operation& operation, Way way) const {
  if (way == Way::kRing || way == Way::kTree) {
    return n_channels_ && round_of(operation.collective) &&
           (way == Way::kRing || operation.collective == Collective::kAllReduce);
  }
  if (ranks() > kMostRanks) return false;
  if (way == Way::kRegistered) return on_registered_memory(operation);
  if (way == Way::kCopies) return can_copy(operation);
  if (way == Way::kPush) return true;
  if (has_net_) return false;
  const std::size_t one = longest(operation, ranks(), false),
                    two = longest(operation, ranks(), true);
  return way == Way::kLowLatency ? one <= layout_.line_blocks * kLineBytes
                                 : two <= layout_.full_lines * kFullLineData;
}

void Engine::run(const Operation& operation, cuda::Stream stream, const Choice& choice) {
  put(operation, stream, choice);
  count(operation, choice, 1);
}

void Engine::put(const Operation& asked, cuda::Stream stream, const Choice& choice) {
  const Operation operation = asked.reduces() ? asked : as_moved(asked);
  check();
  if (operation.count == 0) return;
  const cuda::Current current(context_);
  switch (choice.way) {
    case Way::kRing:
    case Way::kTree:
      run_channels(operation, stream, choice);
      break;
    case Way::kRegistered:
      run_registered(operation, stream, choice);
      break;
    case Way::kCopies:
      run_copies(operation, stream);
      break;
    default:
      run_exchange(operation, stream, choice);
  }
  for (auto& courier : couriers_) courier->wake();
}

void Engine::count(const Operation& asked, const Choice& choice, std::uint64_t times) {
  if (asked.count == 0) return;
  if (over_channels(choice)) return count_channels(asked, times);
  const bool two_steps = in_steps(asked, choice);
  const Exchange e = (two_steps ? in_two_steps : in_one_step)(asked, rank_, ranks());
  for (int peer = 0; peer < ranks(); ++peer) {
    if (peer == rank_) continue;
    const bool reduces = e.reduce_from >> peer & 1, shares = e.share_with >> peer & 1;
    const std::size_t in = (reduces ? e.reduce_count : e.land_count[peer]) + e.take_count[peer];
    const std::size_t out = e.give_count[peer] + (shares ? e.reduce_count : 0);
    traffic_[peer].sent += times * out * asked.element_bytes();
    traffic_[peer].received += times * in * asked.element_bytes();
  }
}

// Shares of channels are taken as equal, and so are the parts of a ring's ranks.
void Engine::count_channels(const Operation& operation, std::uint64_t times) {
  const std::uint64_t n = ranks(), whole = operation.count * operation.element_bytes();
  for (const PlannedChannel& channel : planned_) {
    const auto& ring = channel.ring;
    const std::uint64_t place = std::find(ring.begin(), ring.end(), rank_) - ring.begin();
    const std::uint64_t root = std::find(ring.begin(), ring.end(), operation.root) - ring.begin();
    const std::uint64_t behind = (place + n - root) % n, share = whole / planned_.size();
    std::uint64_t out = share, in = share;
    switch (operation.collective) {
      case Collective::kAllReduce:
        out = in = 2 * share * (n - 1) / n;
        break;
      case Collective::kAllGather:
      case Collective::kReduceScatter:
        out = in = share * (n - 1);
        break;
      case Collective::kBroadcast:
        out = behind + 1 < n ? share : 0, in = behind ? share : 0;
        break;
      default:
        out = behind ? share : 0, in = behind != 1 ? share : 0;
    }
    traffic_[ring[(place + 1) % n]].sent += times * out;
    traffic_[ring[(place + n - 1) % n]].received += times * in;
  }
}

bool Engine::in_steps(const Operation& operation, const Choice& choice) const {
  if (choice.way == Way::kRegistered || choice.way == Way::kCopies) return operation.reduces();
  const bool far = has_net_ && longest(operation, ranks(), false) <= kOneStepBytes;
  return choice.way != Way::kLowLatency && !far;
}

Base Engine::base(std::uint32_t chunk_bytes) const {
  return {layout_, reinterpret_cast<Memory*>(memory_), status_,
          static_cast<std::uint64_t>(timeout_s_ * 1e9), chunk_bytes};
}

void Engine::run_exchange(const Operation& operation, cuda::Stream stream, const Choice& choice) {
  if (ranks() > kMostRanks) throw Error(ErrorCode::kInvalid, "an exchange of too many ranks");
  const bool two_steps = in_steps(operation, choice);
  const std::size_t bytes = longest(operation, ranks(), two_steps);
  std::uint32_t chunk_bytes = 0;
  unsigned grid, threads = kLowLatencyThreads;
  if (choice.way == Way::kLowLatency) {
    grid = choice.blocks ? choice.blocks : divided(bytes, kLowLatencyOfABlock, layout_.line_blocks);
    grid = std::max(grid, divided(bytes, kLineBytes, kMostBlocks + 1));
    if (grid > layout_.line_blocks)
      throw Error(ErrorCode::kInvalid, "too long for the low-latency kernel");
  } else if (choice.way == Way::kFullLines) {
    if (bytes > layout_.full_lines * kFullLineData)
      throw Error(ErrorCode::kInvalid, "too long for full lines");
    grid = choice.blocks ? choice.blocks : divided(bytes, kFullLinesOfABlock, processors_);
  } else {
    const unsigned most = std::min<unsigned>(layout_.blocks, processors_);
    grid = std::min(choice.blocks ? choice.blocks : divided(bytes, kPushOfABlock, most), most);
    threads = kPushThreads;
    const std::size_t half = (bytes / grid / 2 + 511) / 512 * 512;
    const std::size_t least = std::min<std::size_t>(16 << 10, layout_.slot_bytes);
    chunk_bytes = choice.chunk_bytes ? std::min<std::size_t>(choice.chunk_bytes, layout_.slot_bytes)
                                     : std::clamp<std::size_t>(half, least, layout_.slot_bytes);
  }
  const Exchange exchange = (two_steps ? in_two_steps : in_one_step)(operation, rank_, ranks());
  launch_exchange(operation, choice.way, grid, threads, chunk_bytes, exchange, stream);
}

void Engine::run_parts(const std::byte* source, const std::vector<std::size_t>& to,
                       std::byte* destination, const std::vector<std::size_t>& from, Dtype dtype,
                       cuda::Stream stream) {
  if (ranks() > kMostRanks || to.size() != via_.size() || from.size() != via_.size()) {
    throw Error(ErrorCode::kInvalid, "alltoallv goes between " + std::to_string(kMostRanks) +
                                         " GPUs at most, with a count for each");
  }
  if (to[rank_] != from[rank_]) {
    throw Error(ErrorCode::kInvalid,
                "what a rank has for itself is as much as it gets from itself");
  }
  check();
  const Operation operation =
      as_moved({Collective::kAllToAllV, source, destination, 1, dtype, Redop::kSum, 0});
  const std::size_t bytes = dtype_bytes(dtype);
  Exchange e{};
  for (int peer = 0; peer < ranks(); ++peer) {
    const std::size_t out = to[peer] * operation.count, in = from[peer] * operation.count;
    if (peer == rank_) {
      e.own = out ? source : nullptr, e.result = destination, e.reduce_count = out;
    } else {
      e.give[peer] = source, e.give_count[peer] = out;
      e.land[peer] = destination, e.land_count[peer] = in;
      traffic_[peer].sent += to[peer] * bytes;
      traffic_[peer].received += from[peer] * bytes;
    }
    source += to[peer] * bytes;
    destination += from[peer] * bytes;
  }
  const cuda::Current current(context_);
  const unsigned grid = std::min({layout_.blocks, kPartsBlocks, unsigned(processors_)});
  launch_exchange(operation, Way::kPush, grid, kPushThreads, layout_.slot_bytes, e, stream);
  for (auto& courier : couriers_) courier->wake();
}

void Engine::launch_exchange(const Operation& operation, Way way, unsigned blocks, unsigned threads,
                             std::uint32_t chunk_bytes, const Exchange& exchange,
                             cuda::Stream stream) {
  Arguments arguments{base(chunk_bytes), exchange, rank_, ranks(), {}, {}};
  for (int rank = 0; rank < ranks(); ++rank) {
    arguments.in[rank] = boxes_->in(rank);
    arguments.out[rank] = boxes_->out(rank);
  }
  launch(operation, way, blocks, threads, stream, &arguments);
}

void Engine::run_channels(const Operation& operation, cuda::Stream stream, const Choice& choice) {
  const std::optional<Round> round = round_of(operation.collective);
  const bool is_tree = choice.way == Way::kTree;
  if (!n_channels_ || !round || (is_tree && round != Round::kAllReduce)) {
    throw Error(ErrorCode::kInvalid,
                std::string(collective_name(operation.collective)) + " is not run over channels");
  }
  const std::size_t bytes = operation.count * operation.element_bytes();
  const unsigned most = std::min<unsigned>(layout_.blocks, processors_);
  unsigned grid =
      std::min(choice.blocks ? choice.blocks : divided(bytes, kRingOfABlock, most), most);
  if (grid > unsigned(n_channels_)) grid = grid / n_channels_ * n_channels_;
  const std::uint32_t chunk_bytes =
      choice.chunk_bytes ? std::min(choice.chunk_bytes, layout_.slot_bytes) : layout_.slot_bytes;
  ChannelArguments arguments{base(chunk_bytes),
                             reinterpret_cast<const Channel*>(channels_),
                             n_channels_,
                             ranks(),
                             *round,
                             operation.source,
                             operation.destination,
                             operation.count,
                             operation.root,
                             operation.op == Redop::kAvg ? unsigned(ranks()) : 0};
  launch(operation, choice.way, grid, kChannelThreads, stream, &arguments);
}

void Engine::launch(const Operation& operation, Way way, unsigned blocks, unsigned threads,
                    cuda::Stream stream, void* arguments) {
  void* parameters[] = {arguments};
  cuda::LaunchAttribute overlap{kOverlap, 0, {.number = 1}};
  const cuda::LaunchConfig config{{blocks, 1, 1}, {threads, 1, 1}, 0,
                                  stream,         &overlap,        overlaps_ ? 1u : 0u};
  cuda_.check(cuda_.launch_with(&config, function(operation, way), parameters, nullptr),
              std::string("starting ") + collective_name(operation.collective));
}

double Engine::repeat(const Operation& operation, const Choice& choice, int ahead, int times,
                      int replays) {
  const auto launch = [&](cuda::Stream stream) { put(operation, stream, choice); };
  const double seconds = clock_->time(launch, ahead, times, replays, timeout_s_ + kPatience);
  const std::uint64_t runs = replays ? (replays + std::uint64_t(1)) * times : times;
  count(operation, choice, ahead + runs);
  check();
  return seconds;
}

void Engine::check() const {
  const volatile Status* status = status_;
  if (const std::uint32_t failed = status->failed) {
    const int rank = static_cast<int>(failed) - 1;
    std::string problem;
    for (const auto& courier : couriers_) problem = problem.empty() ? courier->problem() : problem;
    if (problem.empty())
      problem = "rank " + std::to_string(rank) + " did not take part within the timeout";
    throw PeerLost(problem, rank);
  }
  if (const std::uint32_t elsewhere = status->elsewhere) {
    throw Error(ErrorCode::kMismatch, "rank " + std::to_string(elsewhere - 1) +
                                          " passed another place of its symmetric memory than "
                                          "rank " +
                                          std::to_string(rank_));
  }
  if (status->abort) throw Error(ErrorCode::kAborted, "this rank was told to stop");
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
  static constexpr const char* kWays[] = {"low_latency_", "push_", "full_lines_",
                                          "ring_",        "tree_", "registered_"};
  const std::string name =
      std::string(kWays[static_cast<int>(way)]) + kOps[static_cast<int>(operation.op)];
  cuda::Function function = nullptr;
  cuda_.check(cuda_.module_function(&function, module, name.c_str()), "finding the kernel " + name);
  return function;
}

}  // namespace railgauge::gpu
