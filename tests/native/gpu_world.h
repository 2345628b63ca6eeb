// SPDX-License-Identifier: Apache-2.0
// Simulated GPUs with staging buffers for each other, and a channel, that run the kernels
// themselves: operations one behind the other, by each way, checked in the end.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
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

namespace railgauge::gpu::on_cpu {

using T = std::int64_t;

inline constexpr std::uint64_t kTimeout = 20'000'000 * Grid::kTurnNs;
inline constexpr Layout kLayout{4, 256, 4, 128};
#if defined(__SANITIZE_THREAD__)
inline constexpr unsigned kSeeds =
    2;  // it sees what is not ordered, whatever was drawn; and takes long
#else
inline constexpr unsigned kSeeds = 12;
#endif
inline constexpr unsigned kThreads = 2 * kWarp;  // of kernels that take any number

enum class Way {
  kLowLatency,
  kFullLines,
  kPushInOneStep,
  kPushInTwoSteps,
  kRing,
  kTree,
  kRegistered
};
inline constexpr int kWays = 7;
inline constexpr const char* kWayNames[kWays] = {
    "in lines",  "in full lines", "pushed in one step", "pushed in two",
    "in a ring", "in a tree",     "registered"};

inline constexpr Collective kOverChannels[] = {Collective::kAllReduce, Collective::kReduce,
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
  // A group of messages between ranks that are drawn, of lengths, alignments and tags that are,
  // whose receives are in the order of the tags.
  void put_messages(int count, std::uint32_t parts) {
    std::vector<std::vector<GpuMessage>> of_rank(ranks_);
    for (int i = 0; i < count; ++i) {
      const int from = draw(ranks_), to = (from + 1 + draw(ranks_ - 1)) % ranks_, at = draw(20);
      const std::size_t bytes = 1 + draw(draw(4) ? 3000 : 20'000);
      auto& [sent, received] = *messages_.emplace_back(std::make_unique<Message>());
      for (std::size_t byte = 0; byte < at + bytes; ++byte) sent.push_back(std::byte(draw(256)));
      received = sent;
      std::fill(received.begin() + at, received.end(), std::byte{});
      const std::uint32_t tag = draw(3);
      of_rank[from].push_back({true, to, sent.data() + at, bytes, tag});
      of_rank[to].push_back({false, from, received.data() + at, bytes, tag});
    }
    for (int rank = 0; rank < ranks_; ++rank) {
      std::ranges::stable_sort(of_rank[rank], {},
                               [](const auto& one) { return one.sends ? 0 : one.tag; });
      for (const MessageBatch& batch : in_batches(of_rank[rank], rank, ranks_))
        start(batch, rank, parts);
    }
  }
  // What a rank does on its stream, behind the operations before.
  void then(int rank, std::function<void()> look) {
    struct Nothing {};
    grid_.launch<Nothing>(rank, 1, 1, [look](Nothing&) { look(); });
  }
  const Rank& of(std::size_t operation, int rank) const { return operations_[operation][rank]; }
  void run() { run(draw(2) ? draw(ranks_) : -1); }
  void run(int late) {
    grid_.run(late);
    for (int rank = 0; rank < ranks_; ++rank) {
      if (status_[rank].failed)
        std::fprintf(stderr, "rank %d waited for rank %u\n", rank, status_[rank].failed - 1);
      REQUIRE(!status_[rank].failed && !status_[rank].elsewhere && !status_[rank].unequal &&
              !status_[rank].untaken);
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
        a.message[end++] = {reinterpret_cast<char*>(one.data), one.bytes, one.tag};
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
      a.base.chunk_bytes = low_latency_bytes(longest(o, ranks_, false), blocks);
      grid_.launch<Nothing>(rank, blocks, kThreads, [a](Nothing&) { LowLatency<T>(a).run(); });
    } else if (way == Way::kFullLines) {
      grid_.launch<Nothing>(rank, blocks, kThreads, [a](Nothing&) { FullLines<T>(a).run(); });
    } else {
      grid_.launch<PushShared>(rank, blocks, kPushThreads,
                               [a](PushShared& shared) { Push<T>(a, shared).run(); });
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

}  // namespace railgauge::gpu::on_cpu
