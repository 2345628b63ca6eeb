// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/broadcast.h"

namespace railgauge {

Task ring_broadcast(const RingChannel& channel, Primitives moves, const std::byte* source,
                    std::byte* destination, std::size_t count, int root) {
  const std::size_t element = moves.element_bytes;
  const std::size_t chunk = channel.next->slot_bytes() / element;
  const int behind = channel.behind(root);
  for (std::size_t at = 0; at < count; at += chunk) {
    const std::size_t some = std::min(chunk, count - at), offset = at * element;
    if (behind == 0) {
      co_await moves.send(source + offset, some);
      if (source != destination) moves.copy(destination + offset, source + offset, some * element);
    } else if (behind < channel.ranks - 1) {
      co_await moves.recv_copy_send(destination + offset, some);
    } else {
      co_await moves.recv(destination + offset, some);
    }
  }
}

void direct_broadcast(Direct direct, const std::byte* source, std::byte* destination,
                      std::size_t count, int root) {
  const std::size_t chunk = direct.chunk(), element = direct.element;
  const int from = direct.position_of(root);
  for (std::size_t at = 0; at < count; at += chunk) {
    const std::size_t some = std::min(chunk, count - at), offset = at * element;
    if (from == direct.position) {
      direct.show(source + offset, some);
      if (source != destination) direct.copy(destination + offset, source + offset, some);
    } else {
      direct.show_nothing();
      direct.copy(destination + offset, direct.seen(from, some), some);
    }
    direct.next_round();
  }
}

}  // namespace railgauge
