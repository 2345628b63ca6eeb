// SPDX-License-Identifier: Apache-2.0
// Every collective by every algorithm that runs it, a thread per rank, out of place and in place,
// from every root, for counts around the sizes of slots and places. Made for sanitizers.
#include "tests/native/case.h"

namespace railgauge {
namespace {

void every_collective_in(World& world, Algorithm algorithm) {
  const int ranks = world.ranks();
  on_every_rank(ranks, [&](int rank) {
    auto comm = world.communicator(rank, algorithm);
    for (int collective = 0; collective < kCollectives; ++collective) {
      auto kind = static_cast<Collective>(collective);
      Operation probe{kind, nullptr, nullptr, 1, Dtype::kInt32, Redop::kSum, 0};
      try {
        comm->choice(probe);
      } catch (const Error&) {
        continue;  // not by this algorithm
      }
      for (std::size_t count : {0, 1, 3, 10, 17, 31, 32, 33, 129, 1000}) {
        for (int root = 0; root < ranks; ++root) {
          Case one{kind, ranks, rank, root, count};
          one.run(*comm, false);
          if (one.may_be_in_place()) one.run(*comm, true);
        }
      }
    }
  });
}

void every_collective(Transport transport, int ranks, Algorithm algorithm,
                      Protocol protocol = Protocol::kLl) {
  World world(transport, ranks, 2, 128);
  world.protocol = protocol;
  for (int first : {0, 1}) {
    world.add_ring(iota(ranks, first));
    world.add_tree(tree_over(iota(ranks, first)));
  }
  world.add_boards(512);
  world.add_pairs();
  if (ranks > 1) world.add_cube(iota(ranks, 0));
  every_collective_in(world, algorithm);
}

// Several hosts, of these ranks each.
void every_collective_by_hierarchy(Transport transport,
                                   const std::vector<std::vector<int>>& hosts) {
  std::size_t ranks = 0;
  for (const auto& host : hosts) ranks += host.size();
  World world(transport, static_cast<int>(ranks), 2, 128);
  world.add_hosts(512, hosts);
  every_collective_in(world, Algorithm::kHierarchical);
}

// Rank r sends r + p elements to rank p.
void parts_of_any_length(Transport transport, int ranks) {
  World world(transport, ranks, 2, 128);
  world.add_pairs();
  on_every_rank(ranks, [&](int rank) {
    auto comm = world.communicator(rank, Algorithm::kPairs);
    std::vector<Part> to, from;
    std::size_t sent = 0, received = 0;
    for (int peer = 0; peer < ranks; ++peer) {
      std::size_t length = 37 * (rank + peer);
      to.push_back({sent, length});
      from.push_back({received, length});
      sent += length;
      received += length;
    }
    Values source(sent), destination(received, kUntouched);
    for (std::size_t i = 0; i < sent; ++i) source[i] = given(rank, i);
    comm->all_to_all_v(reinterpret_cast<const std::byte*>(source.data()), to,
                       reinterpret_cast<std::byte*>(destination.data()), from, Dtype::kInt32);
    for (int peer = 0; peer < ranks; ++peer) {
      std::size_t their_offset = 0;
      for (int before = 0; before < rank; ++before) their_offset += 37 * (peer + before);
      for (std::size_t i = 0; i < from[peer].count; ++i) {
        REQUIRE(destination[from[peer].offset + i] == given(peer, their_offset + i));
      }
    }
  });
}

// Every kind of timed exchange between two ranks brings what was sent; a third has no part in it.
void timed_messages_arrive(Transport transport) {
  World world(transport, 3, 2, 128);
  world.add_pairs();
  on_every_rank(2, [&](int rank) {
    auto comm = world.communicator(rank, Algorithm::kPairs);
    constexpr ExchangeRole kKinds[][2] = {{ExchangeRole::kSend, ExchangeRole::kReceive},
                                          {ExchangeRole::kReceive, ExchangeRole::kSend},
                                          {ExchangeRole::kBoth, ExchangeRole::kBoth},
                                          {ExchangeRole::kAsk, ExchangeRole::kAnswer}};
    for (const auto& kind : kKinds) {
      for (std::size_t count : {0, 1, 32, 1000}) {
        Values source(count + 1), destination(count + 1, kUntouched);
        for (std::size_t i = 0; i < count; ++i) source[i] = given(rank, i);
        const double seconds = comm->time_pair(
            1 - rank, kind[rank], reinterpret_cast<const std::byte*>(source.data()),
            reinterpret_cast<std::byte*>(destination.data()), count * sizeof(source[0]), 1, 3);
        REQUIRE(seconds > 0);
        const bool receives = kind[rank] != ExchangeRole::kSend;
        for (std::size_t i = 0; i <= count; ++i) {
          const bool written = receives && i < count;
          REQUIRE(destination[i] == (written ? given(1 - rank, i) : kUntouched));
        }
      }
    }
    REQUIRE(code_of([&] {
              std::byte none{};
              comm->time_pair(rank, ExchangeRole::kSend, &none, &none, 0, 0, 1);
            }) == ErrorCode::kInvalid);
  });
}

// Rank 1 calls another collective, or is one ahead: somebody is told so, in words.
void another_operation_is_named(Operation mine, Operation theirs, const std::string& words) {
  World world(Transport::kShm, 2, 2, 128);
  world.add_boards(256);
  std::atomic<int> named{0};
  on_every_rank(2, [&](int rank) {
    auto comm = world.communicator(rank, Algorithm::kOneShot, 500ms);
    Values in(64), out(128);
    Operation operation = rank ? theirs : mine;
    operation.source = reinterpret_cast<const std::byte*>(in.data());
    operation.destination = reinterpret_cast<std::byte*>(out.data());
    try {
      comm->run(operation);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kMismatch) return;
      if (std::string(error.what()).find(words) != std::string::npos) ++named;
    }
  });
  REQUIRE(named > 0);
}

}  // namespace
}  // namespace railgauge

int main() {
  using namespace railgauge;
  constexpr Algorithm kAll[] = {Algorithm::kRing,
                                Algorithm::kTree,
                                Algorithm::kOneShot,
                                Algorithm::kTwoShot,
                                Algorithm::kPairs,
                                Algorithm::kRecursiveDoubling,
                                Algorithm::kRecursiveHalving};
  for (Algorithm algorithm : kAll) {
    for (int ranks : {1, 2, 3, 5, 8}) every_collective(Transport::kShm, ranks, algorithm);
  }
  for (Algorithm algorithm : {Algorithm::kRing, Algorithm::kTree, Algorithm::kPairs,
                              Algorithm::kRecursiveDoubling, Algorithm::kRecursiveHalving}) {
    for (int ranks : {2, 3, 5}) every_collective(Transport::kSocket, ranks, algorithm);
    for (int ranks : {2, 3}) every_collective(Transport::kSocketHelpers, ranks, algorithm);
  }
  for (int ranks : {2, 5}) {
    every_collective(Transport::kShm, ranks, Algorithm::kOneShot, Protocol::kSimple);
  }
  for (Transport transport : {Transport::kShm, Transport::kSocket}) {
    every_collective_by_hierarchy(transport, {{0}, {1}});
    every_collective_by_hierarchy(transport, {{0, 1}, {2, 3}});
    every_collective_by_hierarchy(transport, {{0, 2}, {1, 3}, {5, 4}});
    every_collective_by_hierarchy(transport, {{0, 1}, {2}});
    every_collective_by_hierarchy(transport, {{3, 0, 1}, {2, 4}});
  }
  for (int ranks : {1, 2, 5}) parts_of_any_length(Transport::kShm, ranks);
  for (Transport transport : {Transport::kShm, Transport::kSocket, Transport::kSocketHelpers}) {
    timed_messages_arrive(transport);
  }
  Operation float_sum{Collective::kAllReduce, nullptr, nullptr, 8, Dtype::kFloat32, Redop::kSum, 0};
  Operation int_sum = float_sum, more = float_sum, gather = float_sum;
  int_sum.dtype = Dtype::kInt32;
  more.count = 16;
  gather.collective = Collective::kAllGather;
  another_operation_is_named(float_sum, int_sum, "all_reduce #1 of 8 int32, sum");
  another_operation_is_named(float_sum, more, "all_reduce #1 of 16 float, sum");
  another_operation_is_named(float_sum, gather, "all_gather #1 of 8 float");
  std::puts("all passed");
}
