// SPDX-License-Identifier: Apache-2.0
// The kernels themselves, compiled for the CPU: 2 to 8 GPUs that run operations one behind the
// other at speeds that are drawn, one of them late at times, in place on some or all of them, with
// any number of blocks. And waits with their timeout, and means over many ranks.
#include <cstdio>
#include <cstdlib>

#include "collectives/native/reduce.h"
#include "tests/native/gpu_world.h"
#include "tests/native/require.h"

namespace railgauge::gpu::on_cpu {
namespace {

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

// A peer that comes late holds up nobody else: when it begins, the others have all of what they
// send each other, which is far more than their slots hold.
void leave_the_late_behind() {
  constexpr int kLate = 2;
  World world(3, 1);
  const Operation o{Collective::kAllToAll, nullptr, nullptr, 400, Dtype::kInt64, Redop::kSum, 0};
  world.then(kLate, [&world, o] {
    const auto* const got =
        reinterpret_cast<const std::int64_t*>(world.of(0, 1).operation.destination);
    for (std::size_t i = 0; i < o.count; ++i) REQUIRE(got[i] == expected(o, 1, 3, i));
  });
  world.put(Way::kPushInOneStep, o, 1, {false, false, false});
  world.run(kLate);
}

// A rank that only sends does not write over lines that a late one has still to read.
void wait_for_the_late() {
  for (const Way way : {Way::kLowLatency, Way::kFullLines}) {
    World world(2, 1);
    Operation o{Collective::kBroadcast, nullptr, nullptr, 20, Dtype::kInt64, Redop::kSum, 0};
    for (int i = 0; i < 4; ++i) world.put(way, o, 1, {false, false});
    world.run(1);
  }
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
}  // namespace railgauge::gpu::on_cpu

// gpu_kernels_test [SEED]: with one, operations of that seed alone.
int main(int argc, char** argv) {
  using namespace railgauge::gpu::on_cpu;
  const unsigned first = argc > 1 ? std::atoi(argv[1]) : 1, seeds = argc > 1 ? 1 : kSeeds;
  if (argc == 1) wait_without_progress(), average();
  if (argc == 1) leave_the_late_behind(), wait_for_the_late();
  for (unsigned seed = first; seed < first + seeds; ++seed) {
    for (int ranks = 2; ranks <= railgauge::gpu::kMostRanks; ++ranks) {
      std::fprintf(stderr, "seed %u, %d ranks\n", seed, ranks);
      run_some(ranks, seed, seed % 2);
    }
  }
}
