// SPDX-License-Identifier: Apache-2.0
// Send-receive: each rank's `count` elements go to the next rank, and it receives the previous
// one's. In place is not possible.
#pragma once

#include <cstddef>

#include "collectives/native/direct.h"

namespace railgauge {

void direct_send_recv(Direct direct, const std::byte* source, std::byte* destination,
                      std::size_t count);

}  // namespace railgauge
