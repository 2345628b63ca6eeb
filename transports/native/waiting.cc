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

// Between two readings of the clock lie microseconds. After more than this, the kernel gave the
// core to another program in between (its shortest turn is 0.75 ms).
constexpr std::chrono::microseconds kOffCore{500};
// For so long after that, a rank polls only briefly; twice as long if it happens soon again. On two
// cores with a load of 11 to 15, sums of 16 MiB took 110 to 220 ms with polling for 2 ms, and 7 to
// 10 ms with 5 us.
constexpr std::chrono::milliseconds kCrowded{100}, kLongestCrowded{3000};
constexpr std::chrono::microseconds kCrowdedSpin{5};

}  // namespace

void Waiting::poll_less(Clock::time_point now) {
  const bool again = now < crowded_until_ + crowded_for_;
  crowded_for_ = again ? std::min<Clock::duration>(2 * crowded_for_, kLongestCrowded) : kCrowded;
  crowded_until_ = now + crowded_for_;
}

bool Waiting::Patience::polls() const {
  const Clock::duration spin = waiting_.policy_.spin;
  return idle_ <
         (now_ < waiting_.crowded_until_ ? std::min<Clock::duration>(spin, kCrowdedSpin) : spin);
}

bool Waiting::Patience::exhausted(const BlockedOn& on) {
  const Clock::time_point before = now_;
  now_ = Clock::now();
  if (now_ - before > kOffCore) waiting_.poll_less(now_);
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
  now_ = Clock::now();
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
