// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/all_reduce.h"

#include <algorithm>

namespace railgauge {

namespace {

// Chunks start at multiples of this many bytes, so that neighbours never write one cache line.
constexpr std::size_t kChunkAlign = 64;

std::size_t round_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

// One turn of the ring covers `ranks` chunks of at most a slot each.
struct Turn {
  std::size_t start, end, chunk;

  std::size_t offset(int index) const { return std::min(end, start + index * chunk); }
  std::size_t count(int index) const {
    return std::min(end, start + (index + 1) * chunk) - offset(index);
  }
};

}  // namespace

Task ring_all_reduce(const RingChannel& channel, Primitives moves, const std::byte* source,
                     std::byte* destination, std::size_t count) {
  const int ranks = channel.ranks;
  const std::size_t element = moves.element_bytes;
  const std::size_t align = kChunkAlign / element;
  const std::size_t slot = channel.next->slot_bytes() / element;
  const std::size_t turn_count = slot * ranks;

  for (std::size_t start = 0; start < count; start += turn_count) {
    std::size_t end = std::min(count, start + turn_count);
    Turn turn{start, end, round_up((end - start + ranks - 1) / ranks, align)};
    // The chunk a rank handles moves back by one with every step; empty chunks are empty for all.
    int index = (channel.position + ranks - 1) % ranks;
    auto back = [&] { index = (index + ranks - 1) % ranks; };

    if (turn.count(index)) {
      co_await moves.send(source + turn.offset(index) * element, turn.count(index));
    }
    for (int step = 2; step < ranks; ++step) {
      back();
      if (!turn.count(index)) continue;
      co_await moves.recv_reduce_send(source + turn.offset(index) * element, turn.count(index));
    }
    back();
    if (turn.count(index)) {
      std::size_t at = turn.offset(index) * element;
      co_await moves.recv_reduce_copy_send(source + at, destination + at, turn.count(index));
    }
    for (int step = 2; step < ranks; ++step) {
      back();
      if (!turn.count(index)) continue;
      co_await moves.recv_copy_send(destination + turn.offset(index) * element, turn.count(index));
    }
    back();
    if (turn.count(index)) {
      co_await moves.recv(destination + turn.offset(index) * element, turn.count(index));
    }
  }
}

}  // namespace railgauge
