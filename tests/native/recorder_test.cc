// SPDX-License-Identifier: Apache-2.0
// The flight recorder while another thread reads it, and what it costs. Made for sanitizers.
#include "collectives/native/recorder.h"

#include <cstdio>

#include "tests/native/world.h"

namespace railgauge {
namespace {

Subject numbered(std::uint64_t number) {
  return subject_of(
      {Collective::kAllReduce, nullptr, nullptr, number * 3, Dtype::kFloat32, Redop::kSum, 0},
      Algorithm::kOneShot, static_cast<std::uint32_t>(number));
}

void record(Recorder& recorder, std::uint64_t operations) {
  for (std::uint64_t i = 0; i < operations; ++i) {
    recorder.begin(numbered(recorder.begun() + 1), 2, 1, false);
    recorder.end({});
  }
}

void the_last_ones_are_kept_in_order() {
  Recorder recorder;
  REQUIRE(recorder.snapshot().empty());
  record(recorder, 3 * Recorder::kKept + 5);
  const auto kept = recorder.snapshot();
  REQUIRE(kept.size() == Recorder::kKept);
  REQUIRE(kept.back().number == 3 * Recorder::kKept + 5);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    REQUIRE(kept[i].number == kept[0].number + i);
    REQUIRE(kept[i].subject == numbered(kept[i].number));
    REQUIRE(kept[i].took_us == 0);
  }
}

void one_that_is_not_over_says_so() {
  Recorder recorder;
  record(recorder, 2);
  recorder.begin(numbered(3), 2, 1, true);
  REQUIRE(recorder.snapshot().back().took_us == -1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  recorder.end({});
  REQUIRE(recorder.snapshot().back().took_us >= 20000);
}

void one_that_waited_is_timed() {
  Recorder recorder;
  recorder.begin(numbered(1), 2, 1, false);
  const auto waited_since = Clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  recorder.end(waited_since);
  REQUIRE(recorder.snapshot().back().took_us >= 5000);
}

// What is read is whole: an entry's subject is its number's.
void a_reader_never_sees_half_an_entry() {
  Recorder recorder;
  std::atomic<int> reads{0};
  std::thread reader([&] {
    for (; reads < 2000; ++reads) {
      for (const Recorded& one : recorder.snapshot()) {
        REQUIRE(one.subject == numbered(one.number));
      }
    }
  });
  while (reads < 2000) record(recorder, 100);
  reader.join();
}

// Rank 1 sends what belongs to three turns of a ring of two, and no more. A step is a move that
// rank 0 has made, whether it had to wait for it or not.
void steps_are_moves(bool before) {
  World world(Transport::kShm, 2, 8, 128);
  world.add_ring(iota(2, 0));
  std::vector<float> values(2 * 32 * 10, 1.f);
  const Operation operation =
      all_reduce_of(values.data(), values.data(), values.size(), Dtype::kFloat32, Redop::kSum);
  auto comm = world.communicator(0, Algorithm::kRing);
  auto send = [&] {
    Sender& next = *world.wirings[1].rings[0].next;
    for (int i = 0; i < 6; ++i) {
      next.acquire();
      next.post(128, tag_of(subject_of(operation, Algorithm::kRing, 1)));
      if (!before) std::this_thread::sleep_for(5ms);
    }
  };
  if (before) send();
  std::thread rank([&] { REQUIRE(code_of([&] { comm->run(operation); }) == ErrorCode::kAborted); });
  if (!before) send();
  constexpr std::uint32_t kMoves = 3 * 3 + 1;  // of three turns, and a send
  const auto until = Clock::now() + 20s;
  while (comm->blocked_on().step != kMoves && Clock::now() < until) std::this_thread::yield();
  REQUIRE(comm->blocked_on().step == kMoves);
  world.doorbells[0]->abort();
  rank.join();
}

void print_the_cost() {
  Recorder recorder;
  double least = 1e9;
  constexpr int kTurns = 200, kOperations = 10'000;
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto began = Clock::now();
    record(recorder, kOperations);
    least = std::min(least, std::chrono::duration<double, std::nano>(Clock::now() - began).count());
  }
  std::printf("an operation's record costs %.1f ns\n", least / kOperations);
}

}  // namespace
}  // namespace railgauge

int main() {
  using namespace railgauge;
  the_last_ones_are_kept_in_order();
  one_that_is_not_over_says_so();
  one_that_waited_is_timed();
  a_reader_never_sees_half_an_entry();
  for (bool before : {true, false}) steps_are_moves(before);
  print_the_cost();
  return 0;
}
