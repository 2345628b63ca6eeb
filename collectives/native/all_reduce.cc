// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/all_reduce.h"

#include <array>

#include "collectives/native/ready.h"
#include "collectives/native/turn.h"

namespace railgauge {

Task ring_all_reduce(const RingChannel& channel, Primitives moves, const std::byte* source,
                     std::byte* destination, std::size_t count) {
  const int ranks = channel.ranks;
  const std::size_t element = moves.element_bytes;
  const std::size_t turn_count = channel.next->slot_bytes() / element * ranks;

  for (std::size_t start = 0; start < count; start += turn_count) {
    Turn turn(start, std::min(count, start + turn_count), ranks, element);
    // The part a rank handles moves back by one with every step; empty parts are empty for all.
    int part = (channel.position + ranks - 1) % ranks;
    auto back = [&] { part = (part + ranks - 1) % ranks; };

    if (turn.count(part)) {
      co_await moves.send(source + turn.offset(part) * element, turn.count(part));
    }
    for (int step = 2; step < ranks; ++step) {
      back();
      if (!turn.count(part)) continue;
      co_await moves.recv_reduce_send(source + turn.offset(part) * element, turn.count(part));
    }
    back();
    if (turn.count(part)) {
      std::size_t at = turn.offset(part) * element;
      co_await moves.recv_reduce_copy_send(source + at, destination + at, turn.count(part));
    }
    for (int step = 2; step < ranks; ++step) {
      back();
      if (!turn.count(part)) continue;
      co_await moves.recv_copy_send(destination + turn.offset(part) * element, turn.count(part));
    }
    back();
    if (turn.count(part)) {
      co_await moves.recv(destination + turn.offset(part) * element, turn.count(part));
    }
  }
}

Task tree_all_reduce_up(const TreeChannel& channel, const Reduction& reduction, std::size_t element,
                        const std::byte* source, std::byte* destination, std::size_t count,
                        bool stream, std::uint32_t tag) {
  const std::size_t chunk = slot_bytes_of(channel) / element;
  std::vector<const void*> inputs(channel.children.size() + 1);
  for (std::size_t at = 0; at < count; at += chunk) {
    const std::size_t some = std::min(chunk, count - at);
    Ready ready(tag);
    for (const TreeEdge& child : channel.children) ready.receive(*child.from, some * element);
    if (channel.is_root()) {
      for (const TreeEdge& child : channel.children) ready.send(*child.to);
    } else {
      ready.send(*channel.parent.to);
    }
    co_await ready;
    inputs[0] = source + at * element;
    for (std::size_t i = 1; i < inputs.size(); ++i) inputs[i] = ready.message(i - 1);
    const int n = static_cast<int>(inputs.size());
    if (channel.is_root()) {
      reduction.finish(destination + at * element, ready.slot(0), inputs.data(), n, some, stream);
      for (std::size_t i = 1; i < channel.children.size(); ++i) {
        std::memcpy(ready.slot(i), ready.slot(0), some * element);
      }
    } else {
      reduction.combine(ready.slot(0), nullptr, inputs.data(), n, some);
    }
    ready.finish(some * element);
  }
}

Task tree_all_reduce_down(const TreeChannel& channel, std::size_t element, std::byte* destination,
                          std::size_t count, bool stream, std::uint32_t tag) {
  const std::size_t chunk = slot_bytes_of(channel) / element;
  for (std::size_t at = 0; at < count; at += chunk) {
    const std::size_t bytes = std::min(chunk, count - at) * element;
    Ready ready(tag);
    ready.receive(*channel.parent.from, bytes);
    for (const TreeEdge& child : channel.children) ready.send(*child.to);
    co_await ready;
    for (std::size_t i = 0; i < channel.children.size(); ++i) {
      std::memcpy(ready.slot(i), ready.message(0), bytes);
    }
    stream ? stream_copy(destination + at * element, ready.message(0), bytes)
           : static_cast<void>(std::memcpy(destination + at * element, ready.message(0), bytes));
    ready.finish(bytes);
  }
}

void one_shot_all_reduce(Direct direct, const Reduction& reduction, const std::byte* source,
                         std::byte* destination, std::size_t count) {
  const std::size_t chunk = direct.chunk(), element = direct.element;
  std::array<const void*, Direct::kMostRanks> inputs;
  std::size_t shown = 0;
  for (std::size_t at = 0; at < count; at += chunk) {
    for (; shown < count && shown <= at + chunk; shown += chunk) {
      direct.show(source + shown * element, std::min(chunk, count - shown));
    }
    const std::size_t some = std::min(chunk, count - at);
    for (int peer = 0; peer < direct.ranks; ++peer) {
      inputs[peer] = peer == direct.position ? source + at * element : direct.seen(peer, some);
    }
    reduction.finish(destination + at * element, nullptr, inputs.data(), direct.ranks, some,
                     direct.stream);
    direct.next_round();
  }
}

// Two rounds for each chunk: its data, and its results; the next chunk's data is shown before these
// are read.
void two_shot_all_reduce(Direct direct, const Reduction& reduction, const std::byte* source,
                         std::byte* destination, std::size_t count) {
  const std::size_t chunk = direct.chunk(), element = direct.element;
  std::array<const void*, Direct::kMostRanks> inputs;
  auto show = [&](std::size_t at) {
    if (at < count) direct.show(source + at * element, std::min(chunk, count - at));
  };
  show(0);
  for (std::size_t at = 0; at < count; at += chunk) {
    const std::size_t some = std::min(chunk, count - at);
    const Turn turn(0, some, direct.ranks, element);
    const std::size_t own = turn.offset(direct.position), own_count = turn.count(direct.position);
    for (int peer = 0; peer < direct.ranks; ++peer) {
      inputs[peer] = (peer == direct.position ? source + at * element : direct.seen(peer, some)) +
                     own * element;
    }
    std::byte* result = direct.compose(own_count);
    reduction.finish(destination + (at + own) * element, result, inputs.data(), direct.ranks,
                     own_count, direct.stream);
    direct.post(own_count);
    direct.next_round();
    show(at + chunk);
    for (int step = 1; step < direct.ranks; ++step) {
      const int peer = (direct.position + step) % direct.ranks;
      direct.copy(destination + (at + turn.offset(peer)) * element,
                  direct.seen(peer, turn.count(peer)), turn.count(peer));
    }
    direct.next_round();
  }
}

}  // namespace railgauge
