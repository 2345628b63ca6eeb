// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/reduce_to_root.h"

#include <array>

#include "collectives/native/turn.h"

namespace railgauge {

Task ring_reduce(const RingChannel& channel, Primitives moves, const std::byte* source,
                 std::byte* destination, std::size_t count, int root) {
  const std::size_t element = moves.element_bytes;
  const std::size_t chunk = channel.next->slot_bytes() / element;
  const int behind = channel.behind(root);
  for (std::size_t at = 0; at < count; at += chunk) {
    const std::size_t some = std::min(chunk, count - at), offset = at * element;
    if (behind == 0) {
      co_await moves.recv_reduce_copy(source + offset, destination + offset, some);
    } else if (behind == 1) {
      co_await moves.send(source + offset, some);
    } else {
      co_await moves.recv_reduce_send(source + offset, some);
    }
  }
}

void direct_reduce(Direct direct, const Reduction& reduction, const std::byte* source,
                   std::byte* destination, std::size_t count, int root) {
  const std::size_t chunk = direct.chunk(), element = direct.element;
  const int to = direct.position_of(root);
  std::array<const void*, Direct::kMostRanks> inputs;
  for (std::size_t at = 0; at < count; at += chunk) {
    const std::size_t some = std::min(chunk, count - at), offset = at * element;
    if (to != direct.position) {
      direct.show(source + offset, some);
    } else {
      direct.show_nothing();
      for (int peer = 0; peer < direct.ranks; ++peer) {
        inputs[peer] = peer == to ? source + offset : direct.seen(peer, some);
      }
      reduction.finish(destination + offset, nullptr, inputs.data(), direct.ranks, some,
                       direct.stream);
    }
    direct.next_round();
  }
}

void two_shot_reduce(Direct direct, const Reduction& reduction, const std::byte* source,
                     std::byte* destination, std::size_t count, int root) {
  const std::size_t chunk = direct.chunk(), element = direct.element;
  const bool is_root = direct.position_of(root) == direct.position;
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
    std::byte* out = is_root ? destination + (at + own) * element : result;
    reduction.finish(out, is_root ? result : nullptr, inputs.data(), direct.ranks, own_count,
                     is_root && direct.stream);
    direct.post(own_count);
    direct.next_round();
    show(at + chunk);
    for (int peer = 0; is_root && peer < direct.ranks; ++peer) {
      if (peer == direct.position) continue;
      direct.copy(destination + (at + turn.offset(peer)) * element,
                  direct.seen(peer, turn.count(peer)), turn.count(peer));
    }
    direct.next_round();
  }
}

}  // namespace railgauge
