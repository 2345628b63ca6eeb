// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gather.h"

#include "collectives/native/all_to_all.h"

namespace railgauge {

void direct_gather(Direct direct, const std::byte* source, std::byte* destination,
                   std::size_t count, std::size_t stride, int root) {
  const std::size_t chunk = direct.chunk(), element = direct.element;
  const bool is_root = direct.position_of(root) == direct.position;
  for (std::size_t at = 0; at < count; at += chunk) {
    const std::size_t some = std::min(chunk, count - at);
    if (is_root) {
      direct.show_nothing();
      for (int peer = 0; peer < direct.ranks; ++peer) {
        std::byte* part = destination + (direct.rank(peer) * stride + at) * element;
        const std::byte* from =
            peer == direct.position ? source + at * element : direct.seen(peer, some);
        if (part != from) direct.copy(part, from, some);
      }
    } else {
      direct.show(source + at * element, some);
    }
    direct.next_round();
  }
}

void direct_scatter(Direct direct, const std::byte* source, std::byte* destination,
                    std::size_t count, std::size_t stride, int root) {
  const std::size_t chunk = direct.chunk(direct.ranks), element = direct.element;
  const int from = direct.position_of(root);
  for (std::size_t at = 0; at < count; at += chunk) {
    const std::size_t some = std::min(chunk, count - at);
    std::byte* out = destination + at * element;
    if (from == direct.position) {
      const std::byte* own = source + (root * stride + at) * element;
      show_parts(direct, source + at * element, some, stride);
      if (out != own) direct.copy(out, own, some);
    } else {
      direct.show_nothing();
      direct.copy(out, seen_part(direct, from, some), some);
    }
    direct.next_round();
  }
}

}  // namespace railgauge
