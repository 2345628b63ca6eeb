// SPDX-License-Identifier: Apache-2.0
#include "transports/native/health.h"

#include "transports/native/error.h"

namespace railgauge {

void Health::fail(State state, const std::string& why) {
  std::lock_guard lock(mutex_);
  if (why_.empty()) why_ = why;
  if (state_.load(std::memory_order_relaxed) < state) {
    state_.store(state, std::memory_order_release);
  }
}

void Health::raise() const {
  std::lock_guard lock(mutex_);
  throw PeerLost("rank " + std::to_string(peer_) + " at " + address_ + ": " + why_, peer_);
}

}  // namespace railgauge
