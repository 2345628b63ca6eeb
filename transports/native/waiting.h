// SPDX-License-Identifier: Apache-2.0
// How a rank waits: it polls for a while, since an answer often arrives within a microsecond, and
// then sleeps on its doorbell, so that more ranks than cores still make progress. Where other
// programs take its core meanwhile, it soon sleeps, for what it waits for may need one. Every wait
// ends when nothing has moved for the timeout, or when it is aborted.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "transports/native/clock.h"
#include "transports/native/doorbell.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace railgauge {

// The rank that must act before this one can continue, its action, and where.
struct BlockedOn {
  static constexpr std::uint32_t kBoard = (1 << 11) - 1;  // for waits outside channels
  static constexpr std::uint32_t kMostSteps = (1 << 20) - 1;

  std::int32_t rank = -1;            // -1: nobody
  std::uint32_t frees_slot : 1 = 0;  // 1: free a slot; 0: send data
  std::uint32_t channel : 11 = kBoard;
  std::uint32_t step : 20 = 0;  // steps that this operation has done there before
  bool operator==(const BlockedOn&) const = default;

  BlockedOn at(std::uint32_t on_channel, std::uint64_t steps) const {
    BlockedOn there = *this;
    there.channel = std::min(on_channel, kBoard - 1);
    there.step = static_cast<std::uint32_t>(std::min<std::uint64_t>(steps, kMostSteps));
    return there;
  }
};

class Waiting {
 public:
  struct Policy {
    std::chrono::nanoseconds timeout;  // longest time without any movement
    std::chrono::nanoseconds spin;     // polling before sleeping
    void (*look_up)() = nullptr;       // called periodically while it waits; may throw
  };

  Waiting(std::shared_ptr<Doorbell> doorbell, Policy policy)
      : doorbell_(std::move(doorbell)), policy_(policy) {}

  // Returns once `moved()` returns true. `blocked_on()` names the awaited rank: a change of it
  // counts as progress. `describe()` is for messages. Throws Error(kTimeout), Error(kAborted), or
  // what moved() or Policy::look_up throws.
  template <class Moved, class On, class Describe>
  void until(Moved go_on, On blocked_on, Describe describe) {
    auto moved = [&] { return go_on() || (attends() && go_on()); };
    for (int poll = 0; poll < kFirstPolls; ++poll) {
      if (moved()) return;
      relax();
    }
    Patience patience(*this);
    do {
      for (int poll = 0; poll < kPollsPerClock; ++poll) {
        if (moved()) return;
        relax();
      }
      if (doorbell_->aborted()) patience.fail_aborted(describe());
      if (patience.exhausted(blocked_on())) patience.fail_timeout(describe());
      patience.look_up();
      if (patience.polls()) continue;
      auto ticket = doorbell_->prepare_to_sleep();
      if (moved()) return;
      patience.sleep(ticket);
    } while (true);
  }

  // Waits until sent data has left the rank's memory.
  void settle() {
    Attendant* attendant = doorbell_->attendant();
    if (attendant == nullptr) return;
    until([&] { return attendant->unsettled() < 0; },
          [&] { return BlockedOn{attendant->unsettled(), 1}; },
          [&] { return "rank " + std::to_string(attendant->unsettled()) + " accepts no data"; });
  }
  // After a failure: nothing touches the operation's memory any more.
  void give_up() {
    if (Attendant* attendant = doorbell_->attendant()) attendant->give_up();
  }

  // The start of the first wait since `forget_waits()` that was longer than kFirstPolls; else zero.
  Clock::time_point waited_since() const { return waited_since_; }
  void forget_waits() { waited_since_ = {}; }

  // For other threads: the rank that this one waits for now; after Error(kTimeout) and
  // Error(kAborted), the one it waited for.
  BlockedOn blocked_on() const { return shown_.load(std::memory_order_relaxed); }

  static void relax() {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

 private:
  static constexpr int kFirstPolls = 64;     // before anything but polling is done
  static constexpr int kPollsPerClock = 64;  // between two reads of the clock

  // A longer wait: publishes the awaited rank, and counts the time since something moved.
  class Patience {
   public:
    explicit Patience(Waiting& waiting) : waiting_(waiting) {
      if (waiting.waited_since_ == Clock::time_point{}) waiting.waited_since_ = since_;
    }
    ~Patience() {
      waiting_.doorbell_->stay_awake();
      if (!failed_) waiting_.shown_.store({}, std::memory_order_relaxed);
    }
    bool exhausted(const BlockedOn& on);
    void look_up();
    bool polls() const;
    void sleep(std::uint32_t ticket);
    [[noreturn]] void fail_aborted(const std::string& what);
    [[noreturn]] void fail_timeout(const std::string& what);

   private:
    Waiting& waiting_;
    BlockedOn on_;
    std::uint64_t attended_ = 0;
    Clock::time_point since_ = Clock::now(), now_ = since_;
    Clock::duration idle_{};
    bool failed_ = false;
  };

  bool attends() {
    Attendant* attendant = doorbell_->attendant();
    if (attendant == nullptr || !attendant->attend()) return false;
    ++attended_;
    return true;
  }

  // Other programs have taken the core: polls only briefly for a while.
  void poll_less(Clock::time_point now);

  std::shared_ptr<Doorbell> doorbell_;
  Policy policy_;
  std::uint64_t attended_ = 0;  // how often the attendant moved or received something
  std::atomic<BlockedOn> shown_{BlockedOn{}};
  Clock::time_point waited_since_{}, looked_up_{}, crowded_until_{};
  Clock::duration crowded_for_{};
};

}  // namespace railgauge
