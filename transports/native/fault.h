// SPDX-License-Identifier: Apache-2.0
// Fault injection: a Sender that misbehaves on purpose, so that verification, timeouts and the
// independence of channels can be shown to work. It wraps the sender of any transport.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "transports/native/transport.h"

namespace railgauge {

struct Fault {
  enum class Kind {
    kFlip,   // flip bit 6 of the last byte of one message: in a float that is an exponent bit
    kStall,  // hold one message back for `stall`
  };
  Kind kind = Kind::kFlip;
  std::uint64_t message = 0;  // which message of the connection since arm(), from 0
  std::chrono::milliseconds stall{0};
};

class FaultySender final : public Sender {
 public:
  FaultySender(std::shared_ptr<Sender> sender, Fault fault);
  // Counts messages from here on.
  void arm() { armed_ = true; }
  // Whether the fault has occurred.
  bool fired() const { return fired_; }
  std::string via() const override { return sender_->via(); }
  std::byte* acquire() override;
  void post(std::size_t bytes, std::uint32_t tag) override;

 private:
  bool due(Fault::Kind kind) const;

  std::shared_ptr<Sender> sender_;
  Fault fault_;
  bool armed_ = false;
  bool fired_ = false;
  std::uint64_t posted_ = 0;
  std::chrono::steady_clock::time_point stalled_since_{};
};

}  // namespace railgauge
