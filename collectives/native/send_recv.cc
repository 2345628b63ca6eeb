// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/send_recv.h"

namespace railgauge {

void direct_send_recv(Direct direct, const std::byte* source, std::byte* destination,
                      std::size_t count) {
  const std::size_t chunk = direct.chunk(), element = direct.element;
  const int previous = (direct.position + direct.ranks - 1) % direct.ranks;
  std::size_t shown = 0;
  for (std::size_t at = 0; at < count; at += chunk) {
    for (; shown < count && shown <= at + chunk; shown += chunk) {
      direct.show(source + shown * element, std::min(chunk, count - shown));
    }
    const std::size_t some = std::min(chunk, count - at);
    direct.copy(destination + at * element, direct.seen(previous, some), some);
    direct.next_round();
  }
}

}  // namespace railgauge
