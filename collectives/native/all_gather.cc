// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/all_gather.h"

namespace railgauge {

Task ring_all_gather(const RingChannel& channel, Primitives moves, const std::byte* source,
                     std::byte* destination, std::size_t count, std::size_t stride) {
  const int ranks = channel.ranks;
  const std::size_t element = moves.element_bytes;
  const std::size_t chunk = channel.next->slot_bytes() / element;
  auto part = [&](int step) {  // the part that this rank has at this step
    int rank = channel.order[(channel.position + ranks - step) % ranks];
    return destination + rank * stride * element;
  };
  for (std::size_t at = 0; at < count; at += chunk) {
    const std::size_t some = std::min(chunk, count - at), offset = at * element;
    co_await moves.send(source + offset, some);
    if (part(0) != source) moves.copy(part(0) + offset, source + offset, some * element);
    for (int step = 1; step < ranks - 1; ++step) {
      co_await moves.recv_copy_send(part(step) + offset, some);
    }
    co_await moves.recv(part(ranks - 1) + offset, some);
  }
}

void direct_all_gather(Direct direct, const std::byte* source, std::byte* destination,
                       std::size_t count, std::size_t stride) {
  const std::size_t chunk = direct.chunk(), element = direct.element;
  std::byte* own = destination + direct.rank(direct.position) * stride * element;
  std::size_t shown = 0;
  for (std::size_t at = 0; at < count; at += chunk) {
    for (; shown < count && shown <= at + chunk; shown += chunk) {
      direct.show(source + shown * element, std::min(chunk, count - shown));
    }
    const std::size_t some = std::min(chunk, count - at);
    if (own != source) direct.copy(own + at * element, source + at * element, some);
    for (int step = 1; step < direct.ranks; ++step) {
      const int peer = (direct.position + step) % direct.ranks;
      direct.copy(destination + (direct.rank(peer) * stride + at) * element,
                  direct.seen(peer, some), some);
    }
    direct.next_round();
  }
}

}  // namespace railgauge
