// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/all_to_all.h"

namespace railgauge {

namespace {

// The position of rank `of`'s part in a message posted by `by`, which leaves out its own.
int slot_of(int of, int by) { return of < by ? of : of - 1; }

std::size_t message_count(const Direct& direct, std::size_t count) {
  return (direct.ranks - 1) * direct.spaced(count);
}

}  // namespace

void show_parts(Direct& direct, const std::byte* source, std::size_t count, std::size_t stride) {
  std::byte* place = direct.compose(message_count(direct, count));
  for (int peer = 0; peer < direct.ranks; ++peer) {
    if (peer == direct.position) continue;
    std::memcpy(place + slot_of(peer, direct.position) * direct.spaced(count) * direct.element,
                source + direct.rank(peer) * stride * direct.element, count * direct.element);
  }
  direct.post(message_count(direct, count));
}

const std::byte* seen_part(Direct& direct, int peer, std::size_t count) {
  return direct.seen(peer, message_count(direct, count)) +
         slot_of(direct.position, peer) * direct.spaced(count) * direct.element;
}

void direct_all_to_all(Direct direct, const std::byte* source, std::byte* destination,
                       std::size_t count, std::size_t stride) {
  const std::size_t chunk = direct.chunk(direct.ranks), element = direct.element;
  const std::size_t own = direct.rank(direct.position) * stride;
  std::size_t shown = 0;
  for (std::size_t at = 0; at < count; at += chunk) {
    for (; shown < count && shown <= at + chunk; shown += chunk) {
      show_parts(direct, source + shown * element, std::min(chunk, count - shown), stride);
    }
    const std::size_t some = std::min(chunk, count - at);
    direct.copy(destination + (own + at) * element, source + (own + at) * element, some);
    for (int step = 1; step < direct.ranks; ++step) {
      const int peer = (direct.position + step) % direct.ranks;
      direct.copy(destination + (direct.rank(peer) * stride + at) * element,
                  seen_part(direct, peer, some), some);
    }
    direct.next_round();
  }
}

}  // namespace railgauge
