// SPDX-License-Identifier: Apache-2.0
// What the verbs transport computes without a device: how messages are cut over queue pairs, where
// they lie in slots, and what is told of a device's failure. Devices are in tests/vm/test_ib.py.
#include <vector>

#include "tests/native/require.h"
#include "transports/native/error.h"
#include "transports/native/ib/events.h"
#include "transports/native/ib/link.h"
#include "transports/native/ib/memory.h"
#include "transports/native/ib/striping.h"
#include "transports/native/ib/window.h"

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

void slots_and_cells_lie_side_by_side() {
  const SlotLayout layout{4, 4096};
  std::size_t end = 0;
  for (std::uint64_t number = 0; number < layout.slots; ++number) {
    const std::size_t data = layout.slot(number) + sizeof(Header);
    REQUIRE(data % SlotLayout::kAlign == 0);
    REQUIRE(layout.slot(number) >= end);
    REQUIRE(layout.slot(number) == layout.slot(number + layout.slots));
    end = data + layout.slot_bytes;
  }
  for (std::uint64_t number = 0; number < SlotLayout::kCells; ++number) {
    REQUIRE(layout.cell(number) >= end);
    REQUIRE(layout.cell(number) == layout.cell(number + SlotLayout::kCells));
    end = layout.cell(number) + SlotLayout::kCellBytes;
  }
  REQUIRE(end == layout.bytes());
}

void an_immediate_says_what_a_piece_is() {
  for (std::uint32_t message : {0u, 1u, Piece::kNumberMask}) {
    for (std::uint32_t of : {1u, 2u, 256u}) {
      for (bool is_short : {false, true}) {
        const Piece told = Piece::from(Piece{message, is_short, of}.immediate());
        REQUIRE(told.message == message && told.is_short == is_short && told.of == of);
      }
    }
  }
  REQUIRE(Piece::from(Piece{Piece::kNumberMask + 5, false, 1}.immediate()).message == 4);
}

void queue_pairs_take_the_ways_of_a_port_in_turn() {
  for (std::uint32_t number = 0; number < 9; ++number) {
    const LidWay only = lid_way(number, 0, 40, 0);
    REQUIRE(only.to == 40 && only.from_bits == 0);
    const LidWay one_of = lid_way(number, 1, 40, 2);  // two ways from here, four there
    REQUIRE(one_of.to == 40 + number % 4 && one_of.from_bits == number % 2);
  }
}

void a_window_is_told_whole() {
  const Window window{1ull << 40, 4096, {7, 8}};
  const Window told = Window::from(window.facts(), 2);
  REQUIRE(told.address == window.address && told.bytes == 4096 && told.rkeys == window.rkeys);
  try {
    Window::from(window.facts(), 3);
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::kMismatch);
    return;
  }
  REQUIRE(!"a window of another connection is taken");
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
  slots_and_cells_lie_side_by_side();
  an_immediate_says_what_a_piece_is();
  queue_pairs_take_the_ways_of_a_port_in_turn();
  a_window_is_told_whole();
  the_first_failure_of_a_device_is_told();
  std::puts("all passed");
}
