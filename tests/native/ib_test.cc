// SPDX-License-Identifier: Apache-2.0
// What the verbs transport computes without a device: how messages are cut over queue pairs, where
// they lie in slots, and what is told of a device's failure. Devices are in tests/vm/test_ib.py.
#include <vector>

#include "tests/native/require.h"
#include "transports/native/error.h"
#include "transports/native/ib/events.h"
#include "transports/native/ib/memory.h"
#include "transports/native/ib/striping.h"

namespace railgauge::ib {
namespace {

void pieces_cover_a_message_once() {
  for (std::uint32_t rails : {1, 2, 3}) {
    for (std::uint32_t queue_pairs : {1, 2, 5}) {
      for (bool split : {false, true}) {
        const Striping striping(rails, queue_pairs, split);
        REQUIRE(striping.group() == (split ? rails * queue_pairs : rails));
        for (std::size_t bytes : {0, 1, 8192, 8193, 65536, 65537, 1 << 20}) {
          const Striping::Cut cut = striping.cut(bytes);
          REQUIRE(cut.pieces >= 1 && cut.pieces <= striping.group());
          REQUIRE(cut.size * cut.pieces >= bytes);
          REQUIRE(cut.pieces == 1 || cut.size * (cut.pieces - 1) < bytes);
        }
      }
    }
  }
}

void messages_take_turns_over_all_queue_pairs() {
  for (bool split : {false, true}) {
    const std::uint32_t rails = 2, queue_pairs = 3;
    const Striping striping(rails, queue_pairs, split);
    std::vector<int> first(rails * queue_pairs);
    for (std::uint64_t message = 0; message < 60; ++message) {
      ++first[striping.queue_pair(message, 0)];
      std::vector<int> used(first.size());
      for (std::uint32_t piece = 0; piece < striping.group(); ++piece) {
        ++used[striping.queue_pair(message, piece)];
      }
      for (int times : used) REQUIRE(times <= 1);
    }
    for (int times : first) REQUIRE(times == 60 / static_cast<int>(first.size()));
  }
}

// Each message on the rails of its group alone: queue pair k of rail r has number k * rails + r.
void a_message_stays_on_one_queue_pair_of_each_rail() {
  const Striping striping(2, 3, false);
  for (std::uint64_t message = 0; message < 12; ++message) {
    REQUIRE(striping.queue_pair(message, 0) / 2 == message % 3);
    REQUIRE(striping.queue_pair(message, 1) / 2 == message % 3);
    REQUIRE(striping.queue_pair(message, 0) != striping.queue_pair(message, 1));
  }
}

void slots_lie_side_by_side_with_aligned_data_behind_a_header() {
  const SlotLayout layout{4, 4096};
  for (std::uint64_t message = 0; message < 9; ++message) {
    const std::size_t data = layout.offset(message) + sizeof(Header);
    REQUIRE(data % SlotLayout::kAlign == 0);
    REQUIRE(data + layout.slot_bytes <= layout.bytes());
    REQUIRE(layout.offset(message) == layout.offset(message + layout.slots));
    const std::size_t next = layout.offset((message + 1) % layout.slots);
    REQUIRE(next == SlotLayout::kAlign - sizeof(Header) || next >= data + layout.slot_bytes);
  }
}

void the_first_failure_of_a_device_is_told() {
  DeviceFailure failure;
  REQUIRE(!failure.happened());
  failure.tell("mlx5_0:1: port error");
  failure.tell("mlx5_1:1: fatal");
  REQUIRE(failure.happened());
  try {
    failure.raise();
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::kSystem);
    REQUIRE(std::string(error.what()) == "mlx5_0:1: port error");
    return;
  }
  REQUIRE(!"no failure is told");
}

}  // namespace
}  // namespace railgauge::ib

int main() {
  using namespace railgauge::ib;
  pieces_cover_a_message_once();
  messages_take_turns_over_all_queue_pairs();
  a_message_stays_on_one_queue_pair_of_each_rail();
  slots_lie_side_by_side_with_aligned_data_behind_a_header();
  the_first_failure_of_a_device_is_told();
  std::puts("all passed");
}
