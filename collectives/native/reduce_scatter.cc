// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/reduce_scatter.h"

#include <array>

#include "collectives/native/all_to_all.h"

namespace railgauge {

Task ring_reduce_scatter(const RingChannel& channel, Primitives moves, const std::byte* source,
                         std::byte* destination, std::size_t count, std::size_t stride) {
  const int ranks = channel.ranks;
  const std::size_t element = moves.element_bytes;
  const std::size_t chunk = channel.next->slot_bytes() / element;
  auto part = [&](int step) {  // the part sent at this step; at step ranks-1 it is the own one
    int rank = channel.order[(channel.position + 2 * ranks - 1 - step) % ranks];
    return source + rank * stride * element;
  };
  for (std::size_t at = 0; at < count; at += chunk) {
    const std::size_t some = std::min(chunk, count - at), offset = at * element;
    co_await moves.send(part(0) + offset, some);
    for (int step = 1; step < ranks - 1; ++step) {
      co_await moves.recv_reduce_send(part(step) + offset, some);
    }
    co_await moves.recv_reduce_copy(part(ranks - 1) + offset, destination + offset, some);
  }
}

void direct_reduce_scatter(Direct direct, const Reduction& reduction, const std::byte* source,
                           std::byte* destination, std::size_t count, std::size_t stride) {
  const std::size_t chunk = direct.chunk(direct.ranks), element = direct.element;
  const std::byte* own = source + direct.rank(direct.position) * stride * element;
  std::array<const void*, Direct::kMostRanks> inputs;
  std::size_t shown = 0;
  for (std::size_t at = 0; at < count; at += chunk) {
    for (; shown < count && shown <= at + chunk; shown += chunk) {
      show_parts(direct, source + shown * element, std::min(chunk, count - shown), stride);
    }
    const std::size_t some = std::min(chunk, count - at);
    for (int peer = 0; peer < direct.ranks; ++peer) {
      inputs[peer] = peer == direct.position ? own + at * element : seen_part(direct, peer, some);
    }
    reduction.finish(destination + at * element, nullptr, inputs.data(), direct.ranks, some,
                     direct.stream);
    direct.next_round();
  }
}

}  // namespace railgauge
