// SPDX-License-Identifier: Apache-2.0
#include "transports/native/fault.h"

namespace railgauge {

FaultySender::FaultySender(std::shared_ptr<Sender> sender, Fault fault)
    : Sender(sender->peer(), sender->slot_bytes()), sender_(std::move(sender)), fault_(fault) {}

bool FaultySender::due(Fault::Kind kind) const {
  return armed_ && fault_.kind == kind && posted_ == fault_.message;
}

std::byte* FaultySender::acquire() {
  if (due(Fault::Kind::kStall)) {
    auto now = std::chrono::steady_clock::now();
    if (stalled_since_ == std::chrono::steady_clock::time_point{}) stalled_since_ = now;
    fired_ = true;
    if (now - stalled_since_ < fault_.stall) return nullptr;
  }
  return sender_->acquire();
}

void FaultySender::post(std::size_t bytes, std::uint32_t tag) {
  if (due(Fault::Kind::kFlip) && bytes > 0) {
    sender_->acquire()[bytes - 1] ^= std::byte{0x40};
    fired_ = true;
  }
  if (armed_) ++posted_;
  sender_->post(bytes, tag);
  count(bytes);
}

}  // namespace railgauge
