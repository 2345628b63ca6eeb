// SPDX-License-Identifier: Apache-2.0
#include "transports/native/waiting.h"

#include <algorithm>
#include <cstdio>

#include "transports/native/error.h"

namespace railgauge {

namespace {

// How long a rank sleeps before it polls by itself; peers ring when there is work.
constexpr std::chrono::milliseconds kNap{20};
// How often it checks for signals and the timeout.
constexpr std::chrono::milliseconds kLookUp{20};

}  // namespace

bool Waiting::Patience::exhausted(const BlockedOn& on) {
  now_ = Clock::now();
  if (on != on_ || waiting_.attended_ != attended_) {
    since_ = now_;
    attended_ = waiting_.attended_;
    on_ = on;
    waiting_.shown_.store(on, std::memory_order_relaxed);
  }
  idle_ = now_ - since_;
  return idle_ >= waiting_.policy_.timeout;
}

void Waiting::Patience::look_up() {
  if (waiting_.policy_.look_up == nullptr || now_ - waiting_.looked_up_ < kLookUp) return;
  waiting_.looked_up_ = now_;
  waiting_.policy_.look_up();
}

void Waiting::Patience::sleep(std::uint32_t ticket) {
  waiting_.doorbell_->sleep(
      ticket, std::min<std::chrono::nanoseconds>(kNap, waiting_.policy_.timeout - idle_));
}

void Waiting::Patience::fail_aborted(const std::string& what) {
  failed_ = true;
  throw Error(ErrorCode::kAborted, "asked to stop: " + what);
}

void Waiting::Patience::fail_timeout(const std::string& what) {
  failed_ = true;
  char limit[32];
  std::snprintf(limit, sizeof limit, "%g s",
                std::chrono::duration<double>(waiting_.policy_.timeout).count());
  throw Error(ErrorCode::kTimeout, std::string("nothing moved for ") + limit + ": " + what);
}

}  // namespace railgauge
