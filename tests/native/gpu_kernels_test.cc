// SPDX-License-Identifier: Apache-2.0
// The kernels themselves, compiled for the CPU: 2 to 8 GPUs that run operations one behind the
// other at speeds that are drawn, one of them late at times, in place on some or all of them, with
// any number of blocks. And waits with their timeout, and means over many ranks.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>

#include "collectives/native/gpu/exchange.h"
#include "collectives/native/gpu/message_batches.h"
#include "collectives/native/kernels/full_lines.cuh"
#include "collectives/native/kernels/low_latency.cuh"
#include "collectives/native/kernels/messages.cuh"
#include "collectives/native/kernels/push.cuh"
#include "collectives/native/kernels/registered.cuh"
#include "collectives/native/kernels/ring.cuh"
#include "collectives/native/kernels/tree.cuh"
#include "collectives/native/reduce.h"
#include "tests/native/gpu_case.h"
#include "tests/native/grid.h"
#include "tests/native/require.h"

namespace railgauge::gpu {
namespace {

using T = std::int64_t;

constexpr std::uint64_t kTimeout = 20'000'000 * Grid::kTurnNs;
constexpr Layout kLayout{4, 256, 4, 128};
#if defined(__SANITIZE_THREAD__)
constexpr unsigned kSeeds = 2;  // it sees what is not ordered, whatever was drawn; and takes long
#else
constexpr unsigned kSeeds = 12;
#endif
constexpr unsigned kThreads = 2 * kWarp;  // of kernels that take any number

enum class Way {
  kLowLatency,
  kFullLines,
  kPushInOneStep,
  kPushInTwoSteps,
  kRing,
  kTree,
  kRegistered
};
constexpr int kWays = 7;
constexpr const char* kWayNames[kWays] = {"in lines",      "in full lines", "pushed in one step",
                                          "pushed in two", "in a ring",     "in a tree",
                                          "registered"};

constexpr Collective kOverChannels[] = {Collective::kAllReduce, Collective::kReduce,
                                        Collective::kReduceScatter, Collective::kAllGather,
                                        Collective::kBroadcast};  // in the order of Round

struct alignas(128) Bytes {
  char bytes[128];
};

// Some GPUs with staging buffers for each other, and a channel.
class World {
 public:
  World(int ranks, unsigned seed)
      : ranks_(ranks),
        random_(seed),
        grid_(ranks, seed),
        buffers_(ranks * ranks, std::vector<Bytes>(kLayout.buffer_bytes() / sizeof(Bytes))),
        memory_(ranks),
        status_(ranks),
        channels_(ranks),
        order_(ranks) {
    std::iota(order_.begin(), order_.end(), 0);
    std::shuffle(order_.begin(), order_.end(), random_);
    std::vector<int> parents(ranks, -1), children(ranks);
    for (int i = 1; i < ranks; ++i) {
      do parents[order_[i]] = order_[draw(i)];
      while (children[parents[order_[i]]] == kMostChildren);
      ++children[parents[order_[i]]];
    }
    for (int i = 0; i < ranks; ++i) place(i, parents);
  }

  // One operation on every rank, behind those before.
  void put(Way way, Operation operation, unsigned blocks, const std::vector<bool>& in_place) {
    auto& there = operations_.emplace_back();
    for (int rank = 0; rank < ranks_; ++rank)
      there.emplace_back(operation, rank, ranks_, in_place[rank]);
    if (way == Way::kRegistered) open(there);
    for (int rank = 0; rank < ranks_; ++rank) start(way, there[rank].operation, rank, blocks);
  }
  // A group of messages between ranks that are drawn, of lengths and alignments that are.
  void put_messages(int count, std::uint32_t parts) {
    std::vector<std::vector<GpuMessage>> of_rank(ranks_);
    for (int i = 0; i < count; ++i) {
      const int from = draw(ranks_), to = (from + 1 + draw(ranks_ - 1)) % ranks_, at = draw(20);
      const std::size_t bytes = 1 + draw(draw(4) ? 3000 : 20'000);
      auto& [sent, received] = *messages_.emplace_back(std::make_unique<Message>());
      for (std::size_t byte = 0; byte < at + bytes; ++byte) sent.push_back(std::byte(draw(256)));
      received = sent;
      std::fill(received.begin() + at, received.end(), std::byte{});
      of_rank[from].push_back({true, to, sent.data() + at, bytes});
      of_rank[to].push_back({false, from, received.data() + at, bytes});
    }
    for (int rank = 0; rank < ranks_; ++rank) {
      for (const MessageBatch& batch : in_batches(of_rank[rank], rank, ranks_))
        start(batch, rank, parts);
    }
  }
  void run() {
    grid_.run(draw(2) ? draw(ranks_) : -1);
    for (int rank = 0; rank < ranks_; ++rank) {
      if (status_[rank].failed)
        std::fprintf(stderr, "rank %d waited for rank %u\n", rank, status_[rank].failed - 1);
      REQUIRE(!status_[rank].failed && !status_[rank].elsewhere);
      for (std::size_t i = 0; i < operations_.size(); ++i) {
        if (is_right(operations_[i][rank], rank, ranks_)) continue;
        std::fprintf(stderr, "rank %d has something else in operation %zu\n", rank, i);
        std::abort();
      }
    }
    for (const auto& message : messages_) REQUIRE(message->sent == message->received);
  }
  int draw(int below) { return static_cast<int>(random_() % below); }

 private:
  StagingBuffer buffer(int owner, int writer) {
    char* const begin = buffers_[owner * ranks_ + writer].data()->bytes;
    return {begin, begin + kLayout.slots_at()};
  }
  Base base(int rank) {
    const std::uint32_t chunks[] = {128, 256};
    return {kLayout, &memory_[rank], &status_[rank], kTimeout, chunks[operations_.size() % 2]};
  }

  void place(int position, const std::vector<int>& parents) {
    const int rank = order_[position];
    Channel& channel = channels_[rank];
    const auto meet = [&](int& whom, StagingBuffer& from, StagingBuffer& to, int peer) {
      whom = peer;
      if (peer >= 0) from = buffer(rank, peer), to = buffer(peer, rank);
    };
    channel.position = position;
    channel.order = order_.data();
    meet(channel.previous, channel.from_previous, channel.to_previous,
         order_[(position + ranks_ - 1) % ranks_]);
    meet(channel.next, channel.from_next, channel.to_next, order_[(position + 1) % ranks_]);
    meet(channel.parent, channel.from_parent, channel.to_parent, parents[rank]);
    std::fill_n(channel.child, kMostChildren, -1);
    for (int peer = 0, i = 0; peer < ranks_; ++peer) {
      if (parents[peer] != rank) continue;
      meet(channel.child[i], channel.from_child[i], channel.to_child[i], peer);
      ++i;
    }
  }

  // Registered memory of all ranks' sources and destinations.
  void open(const std::vector<Rank>& there) {
    Registration sources{}, destinations{};
    for (int rank = 0; rank < ranks_; ++rank) {
      const Operation& o = there[rank].operation;
      sources.begin[rank] = reinterpret_cast<char*>(const_cast<std::byte*>(o.source));
      destinations.begin[rank] = reinterpret_cast<char*>(o.destination);
    }
    registrations_.push_back(std::make_unique<Registration[]>(2));
    registrations_.back()[0] = sources, registrations_.back()[1] = destinations;
  }

  void start(Way way, const Operation& o, int rank, unsigned blocks) {
    switch (way) {
      case Way::kRing:
      case Way::kTree: {
        const auto* const what =
            std::find(std::begin(kOverChannels), std::end(kOverChannels), o.collective);
        const ChannelArguments a{
            base(rank), &channels_[rank], 1,       ranks_, static_cast<Round>(what - kOverChannels),
            o.source,   o.destination,    o.count, o.root, reduction_of(o, ranks_)};
        if (way == Way::kRing) {
          return grid_.launch<int>(rank, blocks, kRingThreads,
                                   [a](int& stop) { Ring<T>(a, stop).run(); });
        }
        struct Stops {
          int stops[2];
        };
        return grid_.launch<Stops>(rank, blocks, kTreeThreads,
                                   [a](Stops& shared) { tree<T>(a, shared.stops); });
      }
      case Way::kRegistered: {
        RegisteredArguments a{};
        a.base = base(rank);
        a.rank = rank;
        a.ranks = ranks_;
        for (int peer = 0; peer < ranks_; ++peer)
          a.in[peer] = buffer(rank, peer).words, a.out[peer] = buffer(peer, rank).words;
        a.registrations = registrations_.back().get();
        a.destination.registration = 1;
        on_registered(o, rank, ranks_, a);
        return grid_.launch<RegisteredShared>(
            rank, blocks, kRegisteredThreads,
            [a](RegisteredShared& shared) { registered<T>(a, shared); });
      }
      default:
        exchange(way, o, rank, blocks);
    }
  }

  void start(const MessageBatch& batch, int rank, std::uint32_t parts) {
    MessageArguments a{base(rank), parts, 0, {}, {}};
    int end = 0;
    std::uint32_t blocks = 1;
    for (const auto& queue : batch) {
      const int peer = queue.front().peer, begin = end;
      for (const GpuMessage& one : queue) {
        a.message[end++] = {reinterpret_cast<char*>(one.data), one.bytes};
        blocks = std::max(blocks, message_parts(one.bytes, parts));
      }
      a.queue[a.queues++] = {
          buffer(rank, peer), buffer(peer, rank), peer, queue.front().sends, begin, end};
    }
    grid_.launch<MessageShared>(rank, blocks, kMessageThreads,
                                [a](MessageShared& shared) { messages(a, shared); });
  }

  void exchange(Way way, const Operation& o, int rank, unsigned blocks) {
    const bool one_step = way == Way::kLowLatency || way == Way::kPushInOneStep;
    Arguments a{};
    a.base = base(rank);
    a.exchange = (one_step ? in_one_step : in_two_steps)(o, rank, ranks_);
    a.rank = rank;
    a.ranks = ranks_;
    for (int peer = 0; peer < ranks_; ++peer) {
      a.number[peer] = peer;
      if (peer != rank) a.in[peer] = buffer(rank, peer), a.out[peer] = buffer(peer, rank);
    }
    struct Nothing {};
    if (way == Way::kLowLatency) {
      grid_.launch<Nothing>(rank, blocks, kThreads, [a](Nothing&) { LowLatency<T>(a).run(); });
    } else if (way == Way::kFullLines) {
      grid_.launch<Nothing>(rank, blocks, kThreads, [a](Nothing&) { FullLines<T>(a).run(); });
    } else {
      grid_.launch<PushShared>(rank, blocks, kPushThreads,
                               [a](PushShared& shared) { push<T>(a, shared); });
    }
  }

  const int ranks_;
  std::mt19937 random_;
  Grid grid_;
  std::vector<std::vector<Bytes>> buffers_;  // by owner and writer
  std::vector<KernelState> memory_;
  std::vector<Status> status_;
  std::vector<Channel> channels_;
  std::vector<int> order_;
  std::vector<std::unique_ptr<Registration[]>> registrations_;  // of each operation
  std::vector<std::vector<Rank>> operations_;
  struct Message {
    std::vector<std::byte> sent, received;
  };
  std::vector<std::unique_ptr<Message>> messages_;
};

bool can(Way way, Collective collective, int ranks) {
  switch (way) {
    case Way::kTree:
      return collective == Collective::kAllReduce;
    case Way::kRing:
      return std::find(std::begin(kOverChannels), std::end(kOverChannels), collective) !=
             std::end(kOverChannels);
    default:
      return true;
  }
}

// Operations of all kinds, one behind the other, each by some way.
void run_some(int ranks, unsigned seed, bool all_reduce_only) {
  World world(ranks, seed);
  for (int i = 0; i < 4; ++i) {
    Way way;
    Operation o{Collective::kAllReduce, nullptr, nullptr, 0, Dtype::kInt64, Redop::kSum, 0};
    do {
      way = static_cast<Way>(world.draw(kWays));
      if (!all_reduce_only) o.collective = static_cast<Collective>(world.draw(kCollectives));
    } while (!can(way, o.collective, ranks));
    if (o.has_root()) o.root = world.draw(ranks);
    o.count = 1 + world.draw(world.draw(2) ? 700 : 40);
    std::vector<bool> in_place(ranks);
    const int mixed = world.draw(3);  // none, all, or some of them
    for (int rank = 0; o.runs_in_place() && rank < ranks; ++rank)
      in_place[rank] = mixed == 2 ? world.draw(2) : mixed;
    const int blocks = 1 + world.draw(3);
    std::fprintf(stderr, "  %s of %zu %s, in place on %s, %d blocks\n",
                 collective_name(o.collective), o.count, kWayNames[static_cast<int>(way)],
                 mixed == 2 ? "some"
                 : mixed    ? "all"
                            : "none",
                 blocks);
    world.put(way, o, blocks, in_place);
    if (world.draw(2)) world.put_messages(1 + world.draw(12), 1 + world.draw(3));
  }
  world.run();
}

// Messages that take three quarters of the timeout each: no wait is too long, though all of them
// are. `send` and `await` are of message 1, 2, ...; after the last one nothing comes.
template <class Send, class Await>
void trickle(Send send, Await await) {
  constexpr std::uint32_t kMessages = 8;
  constexpr std::uint64_t kShort = 400'000 * Grid::kTurnNs;
  Grid grid(2, 1);
  Status status{};
  Base base{};
  base.status = &status;
  base.timeout_ns = kShort;
  std::uint32_t came = 0;
  std::uint64_t given_up = 0;
  struct Nothing {};
  grid.launch<Nothing>(0, 1, 1, [&](Nothing&) {
    Patience patience(base);
    while (await(came + 1, patience)) ++came;
    given_up = now_ns();
  });
  std::uint64_t last = 0;
  grid.launch<Nothing>(1, 1, 1, [&](Nothing&) {
    for (std::uint32_t message = 1; message <= kMessages; ++message) {
      const std::uint64_t begin = now_ns();
      while (now_ns() - begin < kShort / 4 * 3) Thread::self().pass();
      last = now_ns();
      send(message);
    }
  });
  grid.run();
  REQUIRE(came == kMessages && status.failed == 1 + 5);
  REQUIRE(given_up - last >= kShort);
}

void wait_without_progress() {
  std::uint32_t word = 0;
  trickle([&](std::uint32_t message) { store_release(&word, message); },
          [&](std::uint32_t message, Patience& patience) {
            return await(&word, message, 5, patience);
          });
  Sixteen line{};
  trickle([&](std::uint32_t message) { write_line(&line, message, message); },
          [&](std::uint32_t message, Patience& patience) {
            Word data;
            return read_line(&line, message, 5, patience, data) && data == message;
          });
}

// Means of integers and floats by the kernels and by the host's: `count` values of a type, behind
// `shift` others, so that vectors and single elements are divided.
template <class Element>
void divide(Dtype dtype, std::uint32_t ranks, int shift) {
  std::vector<Element> values(300 + shift), result(values.size()), expected(values.size());
  std::mt19937 random(ranks);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = sizeof(Element) == 1 ? i : std::uint64_t(random()) << 32 | random();
    std::memcpy(&values[i], &bits, sizeof(Element));
  }
  const std::size_t count = values.size() - shift;
  const void* const inputs[] = {values.data() + shift};
  combine_all(dtype, Redop::kAvg)(expected.data() + shift, nullptr, inputs, 1, count,
                                  static_cast<int>(ranks), false);
  Grid grid(1, ranks);
  struct Nothing {};
  grid.launch<Nothing>(0, 1, kWarp, [&](Nothing&) {
    const Element* const from[] = {values.data() + shift};
    Element* const to[] = {result.data() + shift};
    const Crew crew{0, kWarp, static_cast<int>(threadIdx.x)};
    reduce_chunk(crew, from, 1, to, 1, count, {Redop::kSum, ranks});
  });
  grid.run();
  REQUIRE(!std::memcmp(result.data() + shift, expected.data() + shift, count * sizeof(Element)));
}

void average() {
  for (const std::uint32_t ranks :
       {1u, 2u, 3u, 7u, 127u, 128u, 129u, 200u, 255u, 256u, 257u, 300u, 512u, 1000u, 65536u}) {
    for (const int shift : {0, 1}) {
      divide<std::int8_t>(Dtype::kInt8, ranks, shift);
      divide<std::uint8_t>(Dtype::kUint8, ranks, shift);
      divide<std::int32_t>(Dtype::kInt32, ranks, shift);
      divide<std::uint32_t>(Dtype::kUint32, ranks, shift);
      divide<std::int64_t>(Dtype::kInt64, ranks, shift);
      divide<std::uint64_t>(Dtype::kUint64, ranks, shift);
    }
  }
}

}  // namespace
}  // namespace railgauge::gpu

// gpu_kernels_test [SEED]: with one, operations of that seed alone.
int main(int argc, char** argv) {
  using namespace railgauge::gpu;
  const unsigned first = argc > 1 ? std::atoi(argv[1]) : 1, seeds = argc > 1 ? 1 : kSeeds;
  if (argc == 1) wait_without_progress(), average();
  for (unsigned seed = first; seed < first + seeds; ++seed) {
    for (int ranks = 2; ranks <= kMostRanks; ++ranks) {
      std::fprintf(stderr, "seed %u, %d ranks\n", seed, ranks);
      run_some(ranks, seed, seed % 2);
    }
  }
}
