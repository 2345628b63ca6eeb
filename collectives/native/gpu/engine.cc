// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/engine.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>
#include <utility>

#include "collectives/native/gpu/exchange.h"
#include "collectives/native/gpu/rounds.h"
#include "transports/native/cuda/waiting.h"

namespace railgauge::gpu {

namespace {

constexpr int kComputeCapability = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
constexpr int kOverlapFrom = 9;         // the first with griddepcontrol
constexpr int kOverlap = 6;             // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
constexpr std::size_t kLowLatencyOfABlock = 1 << 10, kPushOfABlock = 8 << 10,
                      kFullLinesOfABlock = 2 << 10, kRingOfABlock = 64 << 10;
constexpr unsigned kPartsBlocks =
    64;  // the same on all ranks, which do not know each other's counts
constexpr std::size_t kWarp = 32, kWordsOfAWarp = kWarp * sizeof(std::uint64_t);
constexpr unsigned kLowLatencyThreads = 512, kPushThreads = 640, kChannelThreads = 512;

unsigned divided(std::size_t bytes, std::size_t each, unsigned most) {
  return std::clamp<std::size_t>((bytes + each - 1) / each, 1, most);
}

// Operations that reduce nothing move bits: elements as unsigned integers, which are never rounded.
Operation as_moved(Operation operation) {
  const std::size_t size = operation.element_bytes();
  operation.dtype = size == 8 ? Dtype::kUint64 : size == 4 ? Dtype::kUint32 : Dtype::kUint8;
  operation.count *= size / operation.element_bytes();
  operation.op = Redop::kSum;
  return operation;
}

}  // namespace

Engine::Engine(int device, int rank, const Layout& layout, const std::vector<Via>& via,
               double timeout_s, std::vector<int> numbers, int handle_types, bool nvls)
    : device_(device),
      rank_(rank),
      numbers_(std::move(numbers)),
      layout_(layout),
      timeout_s_(timeout_s),
      gpu_(device),
      processors_(gpu_.processors()),
      least_processors_(processors_),
      overlaps_(gpu_.attribute(kComputeCapability) >= kOverlapFrom),
      kernels_(KernelTable::of(gpu_.context(), nvls)),
      memory_(device, sizeof(KernelState)),
      status_(gpu_.context(), sizeof(Status)),
      clock_(gpu_.context()),
      turns_(gpu_.context()),
      before_aside_(gpu_.context(), false),
      peers_(device, rank, via, timeout_s, [this] { check(); }),
      buffers_(device, peers_, layout, via, handle_types),
      registered_memory_(device, peers_, via, rank),
      choices_(layout, via, registered_memory_),
      traffic_(rank, static_cast<int>(via.size())) {
  if (rank < 0 || rank >= ranks() || buffers_.via(rank) != Via::kNone ||
      layout.blocks > kMostBlocks || layout.line_blocks > kMostBlocks) {
    throw Error(ErrorCode::kInvalid, "a GPU engine's rank must be one of its ranks");
  }
  memory_.set(0, sizeof(KernelState));
  *status() = {};
}

Engine::~Engine() {
  if (const cuda::Closing gpu(gpu_.context()); !gpu) return;  // what follows is gone with it
  const bool leaves = status()->abort || status()->failed;    // and so do its kernels
  cuda::await_idle(gpu_.context(), cuda::kPatience + (leaves ? 0 : timeout_s_));
}

void Engine::connect(const std::vector<Lent>& lent, const std::vector<int>& processors) {
  if (processors.size() != std::size_t(ranks()) || std::ranges::min(processors) < 1)
    throw Error(ErrorCode::kInvalid, "the number of multiprocessors of each rank's GPU is needed");
  least_processors_ = std::ranges::min(processors);
  buffers_.open(lent);
}

void Engine::carry(int proxy, int rank, std::vector<std::shared_ptr<Sender>> to,
                   std::vector<std::shared_ptr<Receiver>> from, std::shared_ptr<gdr::Flush> flush) {
  if (rank < 0 || rank >= ranks() || buffers_.via(rank) != Via::kNet || to.empty() ||
      from.empty() || proxy < 0 || proxy >= static_cast<int>(layout_.blocks)) {
    throw Error(ErrorCode::kInvalid,
                "only a rank on another node has staging buffers for the proxy");
  }
  for (const auto& sender : to) {
    if (sender->slot_bytes() < layout_.slot_bytes)
      throw Error(ErrorCode::kInvalid, "NCCL_BUFFSIZE is too small for GPUs: a slot must hold " +
                                           std::to_string(layout_.slot_bytes) + " bytes");
  }
  routes_.resize(std::max<std::size_t>(routes_.size(), proxy + 1));
  routes_[proxy].push_back({rank, buffers_.in_on_host(rank), buffers_.out_on_host(rank),
                            buffers_.slots(rank, true), buffers_.slots(rank, false),
                            buffers_.slots_in_gpu(rank, true), std::move(to), std::move(from),
                            std::move(flush)});
}

void Engine::start(const std::vector<std::shared_ptr<Doorbell>>& doorbells) {
  const int proxies = static_cast<int>(routes_.size());
  for (int proxy = 0; proxy < proxies; ++proxy) {
    proxies_.push_back(std::make_unique<GpuProxy>(
        layout_, proxy, proxies, std::move(routes_[proxy]), doorbells.at(proxy), status()));
  }
}

void Engine::channels(const std::vector<PlannedChannel>& planned) {
  channels_.emplace(device_, rank_, buffers_, planned);
  if (channels_->count()) choices_.allow_channels();
}

void Engine::run(const Operation& operation, cuda::Stream stream, const Choice& choice) {
  in_turn(stream, [&] { put(operation, stream, choice); });
  count(operation, choice, 1);
}

std::unique_ptr<cuda::Mark> Engine::run_aside(const Operation& operation, cuda::Stream stream,
                                              cuda::Stream aside, const Choice& choice) {
  const cuda::Current current(gpu_.context());
  before_aside_.set(stream);
  before_aside_.hold_back(aside);
  run(operation, aside, choice);
  auto mark = std::make_unique<cuda::Mark>(gpu_.context(), false);
  mark->set(aside);
  return mark;
}

void Engine::put(const Operation& asked, cuda::Stream stream, const Choice& choice) {
  const Operation operation = asked.reduces() ? asked : as_moved(asked);
  if (operation.count == 0) return;
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
    case Way::kNvls:
      run_nvls(operation, stream, choice);
      break;
    default:
      run_exchange(operation, stream, choice);
  }
  for (auto& proxy : proxies_) proxy->wake();
}

void Engine::count(const Operation& asked, const Choice& choice, std::uint64_t times) {
  if (asked.count == 0) return;
  if (choice.over_channels()) return traffic_.add(asked, channels_->planned(), times);
  if (ranks() > kMostRanks)
    return traffic_.add(in_pairs(asked, rank_, ranks()), asked.element_bytes(), times);
  const bool two_steps = choices_.in_steps(asked, choice);
  const Exchange exchange = (two_steps ? in_two_steps : in_one_step)(asked, rank_, ranks());
  traffic_.add(exchange, asked.element_bytes(), times);
}

Base Engine::base(std::uint32_t chunk_bytes) const {
  return {layout_, reinterpret_cast<KernelState*>(memory_.pointer()), status(),
          static_cast<std::uint64_t>(timeout_s_ * 1e9), chunk_bytes};
}

void Engine::run_exchange(const Operation& operation, cuda::Stream stream, const Choice& choice) {
  if (ranks() > kMostRanks) {
    if (choice.way != Way::kPush || round_of(operation.collective))
      throw Error(ErrorCode::kInvalid, "an exchange of too many ranks");
    choices_.check_pairs(operation.collective);
    const std::size_t bytes = longest(operation, ranks(), false);
    return run_rounds(operation, in_pairs(operation, rank_, ranks()), push(bytes, choice), stream);
  }
  const bool two_steps = choices_.in_steps(operation, choice);
  const std::size_t bytes = longest(operation, ranks(), two_steps);
  Started how{choice.way, choice.blocks, kLowLatencyThreads, 0};
  if (choice.way == Way::kLowLatency) {
    if (!how.blocks) how.blocks = divided(bytes, kLowLatencyOfABlock, layout_.line_blocks);
    how.blocks = std::min(how.blocks, layout_.line_blocks);
    how.blocks = std::max(how.blocks, divided(bytes, kLineBytes, kMostBlocks + 1));
    if (how.blocks > layout_.line_blocks)
      throw Error(ErrorCode::kInvalid, "too long for the low-latency kernel");
    how.chunk_bytes = low_latency_bytes(bytes, how.blocks);
    how.threads = divided(how.chunk_bytes, kWordsOfAWarp, how.threads / kWarp) * kWarp;
  } else if (choice.way == Way::kFullLines) {
    if (bytes > layout_.full_lines * kFullLineData)
      throw Error(ErrorCode::kInvalid, "too long for full lines");
    if (!how.blocks) how.blocks = divided(bytes, kFullLinesOfABlock, least_processors_);
    how.blocks = std::min<unsigned>(how.blocks, least_processors_);
  } else {
    how = push(bytes, choice);
  }
  const Exchange exchange = (two_steps ? in_two_steps : in_one_step)(operation, rank_, ranks());
  std::vector<int> all(ranks());
  std::iota(all.begin(), all.end(), 0);
  launch_exchange(operation, how, exchange, all, stream);
}

Engine::Started Engine::push(std::size_t bytes, const Choice& choice) const {
  const unsigned most = std::min<unsigned>(layout_.blocks, least_processors_);
  const unsigned blocks =
      std::min(choice.blocks ? choice.blocks : divided(bytes, kPushOfABlock, most), most);
  const std::size_t half = (bytes / blocks / 2 + 511) / 512 * 512;
  const std::size_t least = std::min<std::size_t>(16 << 10, layout_.slot_bytes);
  const std::size_t chunk = choice.chunk_bytes
                                ? std::min<std::size_t>(choice.chunk_bytes, layout_.slot_bytes)
                                : std::clamp<std::size_t>(half, least, layout_.slot_bytes);
  return {Way::kPush, blocks, kPushThreads, static_cast<std::uint32_t>(chunk)};
}

void Engine::run_parts(const std::byte* source, const std::vector<std::size_t>& to,
                       std::byte* destination, const std::vector<std::size_t>& from, Dtype dtype,
                       cuda::Stream stream) {
  if (to.size() != std::size_t(ranks()) || from.size() != to.size())
    throw Error(ErrorCode::kInvalid, "alltoallv takes a count for each rank");
  choices_.check_pairs(Collective::kAllToAllV);
  if (to[rank_] != from[rank_]) {
    throw Error(ErrorCode::kInvalid,
                "a rank must send itself as many elements as it receives from itself");
  }
  const Operation operation =
      as_moved({Collective::kAllToAllV, source, destination, 1, dtype, Redop::kSum, 0});
  const auto moved = [&](std::vector<std::size_t> counts) {
    for (std::size_t& count : counts) count *= operation.count;
    return counts;
  };
  const Pairs parts =
      in_parts(source, moved(to), destination, moved(from), operation.element_bytes(), rank_);
  const unsigned grid = std::min({layout_.blocks, kPartsBlocks, unsigned(least_processors_)});
  in_turn(stream, [&] {
    run_rounds(operation, parts, {Way::kPush, grid, kPushThreads, layout_.slot_bytes}, stream);
  });
  traffic_.add(parts, operation.element_bytes(), 1);
  for (auto& proxy : proxies_) proxy->wake();
}

void Engine::run_rounds(const Operation& operation, const Pairs& pairs, const Started& how,
                        cuda::Stream stream) {
  bool first = true;
  for (const std::vector<int>& members : rounds(rank_, ranks())) {
    const Exchange exchange = in_round(pairs, members, std::exchange(first, false));
    if (moves(exchange)) launch_exchange(operation, how, exchange, members, stream);
  }
}

void Engine::launch_exchange(const Operation& operation, const Started& how,
                             const Exchange& exchange, const std::vector<int>& members,
                             cuda::Stream stream) {
  Arguments arguments{
      base(how.chunk_bytes), exchange, 0, static_cast<int>(members.size()), {}, {}, {}};
  for (int i = 0; i < arguments.ranks; ++i) {
    const int rank = members[i];
    if (rank == rank_) arguments.rank = i;
    arguments.in[i] = buffers_.in(rank);
    arguments.out[i] = buffers_.out(rank);
    arguments.number[i] = rank;
  }
  launch(operation, how.way, how.blocks, how.threads, stream, &arguments);
}

void Engine::run_channels(const Operation& operation, cuda::Stream stream, const Choice& choice) {
  const std::optional<Round> round = round_of(operation.collective);
  const bool is_tree = choice.way == Way::kTree;
  if (!channels_ || !channels_->count() || !round || (is_tree && round != Round::kAllReduce)) {
    throw Error(ErrorCode::kInvalid,
                std::string(collective_name(operation.collective)) + " cannot run over channels");
  }
  const std::size_t bytes = operation.count * operation.element_bytes();
  const unsigned most = std::min<unsigned>(layout_.blocks, least_processors_);
  unsigned grid =
      std::min(choice.blocks ? choice.blocks : divided(bytes, kRingOfABlock, most), most);
  const unsigned channels = channels_->count();
  if (grid > channels) grid = grid / channels * channels;
  const std::uint32_t chunk_bytes =
      choice.chunk_bytes ? std::min(choice.chunk_bytes, layout_.slot_bytes) : layout_.slot_bytes;
  ChannelArguments arguments{base(chunk_bytes),
                             channels_->on_gpu(),
                             channels_->count(),
                             ranks(),
                             *round,
                             operation.source,
                             operation.destination,
                             operation.count,
                             operation.root,
                             reduction_of(operation, ranks())};
  launch(operation, choice.way, grid, kChannelThreads, stream, &arguments);
}

void Engine::launch(const Operation& operation, Way way, unsigned blocks, unsigned threads,
                    cuda::Stream stream, void* arguments) {
  void* parameters[] = {arguments};
  launch(kernels_->function(operation.dtype, way), blocks, threads, stream, parameters,
         collective_name(operation.collective));
}

void Engine::launch(cuda::Function kernel, unsigned blocks, unsigned threads, cuda::Stream stream,
                    void** parameters, const char* what) {
  cuda::LaunchAttribute overlap{kOverlap, 0, {.number = 1}};
  const cuda::LaunchConfig config{{blocks, 1, 1}, {threads, 1, 1}, 0,
                                  stream,         &overlap,        overlaps_ ? 1u : 0u};
  cuda_.check(cuda_.launch_with(&config, kernel, parameters, nullptr),
              std::string("starting ") + what);
}

double Engine::repeat(const Operation& operation, const Choice& choice, int ahead, int times,
                      int replays) {
  // All on one stream, and done when this returns: one turn, whose launches may overlap.
  double seconds = 0;
  in_turn(clock_.stream(), [&] {
    const auto launch = [&](cuda::Stream stream) {
      check();
      put(operation, stream, choice);
    };
    seconds = clock_.time(launch, ahead, times, replays, timeout_s_ + cuda::kPatience);
  });
  const std::uint64_t runs = replays ? (replays + std::uint64_t(1)) * times : times;
  count(operation, choice, ahead + runs);
  check();
  return seconds;
}

int Engine::number(int rank) const { return numbers_.empty() ? rank : numbers_.at(rank); }

std::string Engine::named(int rank) const { return "rank " + std::to_string(number(rank)); }

void Engine::check() const {
  // A proxy or a kernel that writes a word of it has written the related data before.
  const auto read = [](auto& word) {
    return std::atomic_ref(word).load(std::memory_order_acquire);
  };
  if (const std::uint32_t unequal = read(status()->unequal)) {
    throw Error(ErrorCode::kMismatch, named(unequal - 1) +
                                          " sent a message of another length than " + named(rank_) +
                                          " receives");
  }
  if (const std::uint64_t untaken = read(status()->untaken)) {
    throw Error(ErrorCode::kMismatch,
                named((untaken >> 32) - 1) + " sent a message with tag " +
                    std::to_string(std::uint32_t(untaken)) + ", which " + named(rank_) +
                    " does not receive next: receive messages in the order of their sends, or "
                    "in one group");
  }
  if (const std::uint32_t failed = read(status()->failed)) {
    const int rank = static_cast<int>(failed) - 1;
    std::string problem;
    for (const auto& proxy : proxies_) problem = problem.empty() ? proxy->problem() : problem;
    if (problem.empty()) problem = named(rank) + " did not take part within the timeout";
    throw PeerLost(problem, number(rank));
  }
  if (const std::uint32_t elsewhere = read(status()->elsewhere)) {
    throw Error(ErrorCode::kMismatch,
                named(elsewhere - 1) + " passed a different offset in its symmetric memory than " +
                    named(rank_));
  }
  if (read(status()->abort)) throw Error(ErrorCode::kAborted, "this rank was asked to stop");
}

void Engine::abort() { std::atomic_ref(status()->abort).store(1, std::memory_order_release); }

void Engine::synchronize(cuda::Stream stream) const {
  const cuda::Current current(gpu_.context());
  cuda::await(gpu_.context(), stream, timeout_s_ + cuda::kPatience, "waiting for a stream");
  check();
}

std::unique_ptr<cuda::Mark> Engine::mark(cuda::Stream stream) const {
  const cuda::Current current(gpu_.context());
  if (cuda::capture_of(stream)) return nullptr;
  auto mark = std::make_unique<cuda::Mark>(gpu_.context(), false);
  mark->set(stream);
  return mark;
}

void Engine::await(const cuda::Mark& mark) const {
  const cuda::Current current(gpu_.context());
  mark.await(timeout_s_ + cuda::kPatience);
  check();
}

}  // namespace railgauge::gpu
