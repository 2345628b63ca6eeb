// SPDX-License-Identifier: Apache-2.0
// What shared memory is refused for: shared segments of too many ranks or too small places, FIFOs
// of one slot, segments that are shorter than they say; and shared segments of as many ranks as
// they serve.
#include "collectives/native/all_reduce.h"
#include "tests/native/world.h"

namespace railgauge {
namespace {

// A shared segment whose ranks are all this one: its thread plays them all.
std::unique_ptr<shm::SharedSegment> segment_of(int ranks, std::size_t place_bytes) {
  auto segment = std::make_unique<shm::SharedSegment>(place_bytes);
  std::vector<shm::SharedSegment::Peer> peers;
  for (int rank = 0; rank < ranks; ++rank) peers.push_back({rank, rank, "", nullptr});
  segment->open(peers);
  return segment;
}

void boards_serve_so_many_ranks_and_no_more() {
  REQUIRE(code_of([] { segment_of(shm::kMostRanks + 1, 64); }) == ErrorCode::kInvalid);
  auto segment = segment_of(shm::kMostRanks, 64);
  Waiting waiting(Doorbell::create(), {20s, 5us});
  const std::vector<std::int32_t> in(100, 3);
  std::vector<std::int32_t> out(100);
  const Operation o = all_reduce_of(in.data(), out.data(), in.size(), Dtype::kInt32, Redop::kSum);
  const Direct direct(*segment, waiting, o, subject_of(o, Algorithm::kOneShot, 1),
                      Protocol::kSimple, false);
  one_shot_all_reduce(direct, Reduction(o, shm::kMostRanks), o.source, o.destination, o.count);
  for (std::int32_t x : out) REQUIRE(x == 3 * shm::kMostRanks);
}

void a_place_too_small_for_all_parts_is_refused() {
  auto segment = segment_of(3, 128);
  Waiting waiting(Doorbell::create(), {20s, 5us});
  const Operation o{Collective::kAllToAll, nullptr, nullptr, 1, Dtype::kInt32, Redop::kSum, 0};
  const Direct direct(*segment, waiting, o, subject_of(o, Algorithm::kOneShot, 1),
                      Protocol::kSimple, false);
  REQUIRE(direct.chunk(2) == 16);
  REQUIRE(code_of([&] { direct.chunk(3); }) == ErrorCode::kInvalid);
}

void a_fifo_of_one_slot_is_refused() {
  REQUIRE(code_of([] { shm::ShmReceiver(0, Doorbell::create(), 1, 64); }) == ErrorCode::kInvalid);
}

void a_segment_shorter_than_it_says_is_refused() {
  const auto segment = shm::Segment::create(4096);
  std::string descriptor = segment->descriptor();
  descriptor.replace(descriptor.find(":4096:"), 6, ":8192:");
  REQUIRE(code_of([&] { shm::Segment::open(descriptor); }) == ErrorCode::kInvalid);
}

}  // namespace
}  // namespace railgauge

int main() {
  using namespace railgauge;
  boards_serve_so_many_ranks_and_no_more();
  a_place_too_small_for_all_parts_is_refused();
  a_fifo_of_one_slot_is_refused();
  a_segment_shorter_than_it_says_is_refused();
  std::puts("all passed");
}
