// SPDX-License-Identifier: Apache-2.0
// All-reduce without Python, a thread per rank, over each transport and by each algorithm: every
// dtype and operator, 1 to 5 ranks, channels in other orders, a stalled channel, a deadline, an
// abort. Made for sanitizers.
#include <cmath>

#include "tests/native/world.h"

namespace railgauge {
namespace {

// Everything that an algorithm may need; a hierarchy is of two hosts, the even ranks and the odd.
void wire(World& world, Algorithm algorithm) {
  const int ranks = world.ranks();
  for (int first : {0, 1}) {
    world.add_ring(iota(ranks, first));
    world.add_tree(tree_over(iota(ranks, first)));
  }
  if (ranks > 1) world.add_cube(iota(ranks, 0));
  if (ranks == 1 || algorithm != Algorithm::kHierarchical) return world.add_boards(256);
  std::vector<std::vector<int>> hosts(2);
  for (int rank = 0; rank < ranks; ++rank) hosts[rank % 2].push_back(rank);
  world.add_hosts(256, hosts);
}

void all_dtypes_and_operators(Transport transport, int ranks, Algorithm algorithm) {
  World world(transport, ranks, 2, 128);
  wire(world, algorithm);
  on_every_rank(ranks, [&](int rank) {
    auto comm = world.communicator(rank, algorithm);
    for (int dtype = 0; dtype < kDtypes; ++dtype) {
      for (int op = 0; op < kRedops; ++op) {
        for (std::size_t count : {0, 1, 7, 64, 1009}) {
          DataPattern pattern{ranks, static_cast<Dtype>(dtype), static_cast<Redop>(op), count,
                              count % 2 ? PatternKind::kRandom : PatternKind::kExact};
          std::vector<std::uint64_t> in(count), out(count, ~0ull);
          fill_pattern(pattern, rank, in.data(), count);
          comm->run(all_reduce_of(in.data(), out.data(), count, pattern.dtype, pattern.op));
          REQUIRE(check_reduced(pattern, out.data(), count).wrong == 0);
          comm->run(all_reduce_of(in.data(), in.data(), count, pattern.dtype, pattern.op));
          REQUIRE(check_reduced(pattern, in.data(), count).wrong == 0);
        }
      }
    }
  });
}

// Holds channel 0 of rank 0 back: channel 1 has to end long before it.
void a_stalled_channel_does_not_hold_the_other(Transport transport) {
  World world(transport, 2, 4, 256);
  for (int channel = 0; channel < 2; ++channel) world.add_ring(iota(2, 0));
  auto& stalled = world.wirings[0].rings[0].next;
  Fault fault{Fault::Kind::kStall, 1, 400ms};
  auto faulty = std::make_shared<FaultySender>(stalled, fault);
  faulty->arm();
  stalled = faulty;
  std::atomic<std::uint64_t> other_at_half{0};
  auto other = world.wirings[1].rings[1].previous;
  constexpr std::size_t kCount = 4096;
  std::thread watch([&] {
    std::this_thread::sleep_for(200ms);
    other_at_half = other->bytes();
  });
  on_every_rank(2, [&](int rank) {
    auto comm = world.communicator(rank, Algorithm::kRing);
    DataPattern pattern{2, Dtype::kFloat32, Redop::kSum, 1};
    std::vector<float> data(kCount);
    fill_pattern(pattern, rank, data.data(), kCount);
    comm->run(all_reduce_of(data.data(), data.data(), kCount, Dtype::kFloat32, Redop::kSum));
    REQUIRE(check_reduced(pattern, data.data(), kCount).wrong == 0);
  });
  watch.join();
  REQUIRE(other_at_half == kCount / 2 * sizeof(float));
}

// Floats that come to other sums in another order.
void all_ranks_get_the_same_bits(Transport transport, int ranks, Algorithm algorithm) {
  constexpr std::size_t kCount = 777;
  World world(transport, ranks, 2, 128);
  wire(world, algorithm);
  std::vector<std::vector<float>> results(ranks, std::vector<float>(kCount));
  on_every_rank(ranks, [&](int rank) {
    auto comm = world.communicator(rank, algorithm);
    std::vector<float>& data = results[rank];
    for (std::size_t i = 0; i < kCount; ++i) {
      data[i] = std::sin(static_cast<float>(rank * kCount + i)) * std::pow(10.f, i % 7);
    }
    comm->run(all_reduce_of(data.data(), data.data(), kCount, Dtype::kFloat32, Redop::kSum));
    const float zero = rank % 2 ? 0.f : -0.f;
    comm->run(all_reduce_of(&zero, data.data(), 1, Dtype::kFloat32, Redop::kMax));
  });
  for (const auto& result : results) {
    REQUIRE(std::memcmp(result.data(), results[0].data(), kCount * sizeof(float)) == 0);
  }
}

void a_lonely_rank_reaches_its_deadline(Transport transport, Algorithm algorithm) {
  World world(transport, 2, 2, 128);
  wire(world, algorithm);
  auto comm = world.communicator(0, algorithm, 100ms);
  float x = 1;
  REQUIRE(code_of([&] { comm->run(all_reduce_of(&x, &x, 1, Dtype::kFloat32, Redop::kSum)); }) ==
          ErrorCode::kTimeout);
  REQUIRE(comm->blocked_on().rank == 1);
}

void an_abort_ends_a_sleeping_rank(Transport transport, Algorithm algorithm) {
  World world(transport, 2, 2, 128);
  wire(world, algorithm);
  auto comm = world.communicator(0, algorithm, 60s);
  std::thread other([&] {
    std::this_thread::sleep_for(50ms);
    Doorbell::open(world.doorbells[0]->descriptor())->abort();
  });
  float x = 1;
  REQUIRE(code_of([&] { comm->run(all_reduce_of(&x, &x, 1, Dtype::kFloat32, Redop::kSum)); }) ==
          ErrorCode::kAborted);
  other.join();
}

void different_counts_are_found(Transport transport, Algorithm algorithm) {
  World world(transport, 2, 8, 128);
  wire(world, algorithm);
  std::atomic<int> found{0};
  on_every_rank(2, [&](int rank) {
    auto comm = world.communicator(rank, algorithm, 500ms);
    std::vector<float> data(64);
    auto code = code_of([&] {
      comm->run(
          all_reduce_of(data.data(), data.data(), rank ? 30 : 20, Dtype::kFloat32, Redop::kSum));
    });
    if (code == ErrorCode::kMismatch) ++found;
  });
  REQUIRE(found > 0);
}

}  // namespace
}  // namespace railgauge

int main() {
  using namespace railgauge;
  constexpr Algorithm kAll[] = {Algorithm::kRing,
                                Algorithm::kTree,
                                Algorithm::kOneShot,
                                Algorithm::kTwoShot,
                                Algorithm::kRecursiveDoubling,
                                Algorithm::kRecursiveHalving,
                                Algorithm::kHierarchical};
  for (Transport transport : {Transport::kShm, Transport::kSocket}) {
    for (Algorithm algorithm : kAll) {
      for (int ranks : {1, 2, 3, 5}) all_dtypes_and_operators(transport, ranks, algorithm);
      for (int ranks : {2, 3, 7}) all_ranks_get_the_same_bits(transport, ranks, algorithm);
      a_lonely_rank_reaches_its_deadline(transport, algorithm);
      an_abort_ends_a_sleeping_rank(transport, algorithm);
      different_counts_are_found(transport, algorithm);
    }
    a_stalled_channel_does_not_hold_the_other(transport);
  }
  std::puts("all passed");
}
