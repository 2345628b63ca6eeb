// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/executor.h"

#include <algorithm>

#include "transports/native/error.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace railgauge {

namespace {

using Clock = std::chrono::steady_clock;

// How long a rank sleeps before it looks around by itself; peers ring when there is something to
// do.
constexpr std::chrono::milliseconds kNap{20};
// Polls between two looks at the clock.
constexpr int kPollsPerClock = 64;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Steps every unfinished task once; returns whether any moved.
bool step_all(std::span<Task> tasks, std::size_t& unfinished) {
  bool moved = false;
  for (Task& task : tasks) {
    if (task.done() || !task.step()) continue;
    moved = true;
    if (task.done()) --unfinished;
  }
  return moved;
}

const Wait* first_wait(std::span<Task> tasks) {
  for (Task& task : tasks) {
    if (!task.done() && task.waiting()) return task.waiting();
  }
  return nullptr;
}

std::string describe(std::span<Task> tasks) {
  std::string text;
  for (std::size_t channel = 0; channel < tasks.size(); ++channel) {
    if (tasks[channel].done() || !tasks[channel].waiting()) continue;
    BlockedOn on = tasks[channel].waiting()->blocked_on();
    text += (text.empty() ? "channel " : ", channel ") + std::to_string(channel) + " waits for " +
            (on.frees_slot ? "a free slot" : "data") + " from rank " + std::to_string(on.rank);
  }
  return text;
}

[[noreturn]] void fail_timeout(std::span<Task> tasks, std::chrono::nanoseconds timeout) {
  auto seconds = std::chrono::duration<double>(timeout).count();
  char limit[32];
  std::snprintf(limit, sizeof limit, "%g s", seconds);
  throw Error(ErrorCode::kTimeout,
              std::string("nothing moved for ") + limit + ": " + describe(tasks));
}

// Watches how long nothing has moved. A wait that changed its object counts as movement.
class Idleness {
 public:
  explicit Idleness(std::atomic<BlockedOn>& shown) : shown_(shown) {}

  void over() {
    if (polls_ > 0) shown_.store({}, std::memory_order_relaxed);
    polls_ = 0;
  }
  // True when it is time to look at the clock.
  bool poll() { return polls_++ % kPollsPerClock == 0; }
  void look_again() { polls_ = kPollsPerClock; }

  Clock::duration since(const BlockedOn& now_on) {
    auto now = Clock::now();
    if (polls_ == 1 || now_on != on_) {
      since_ = now;
      on_ = now_on;
      shown_.store(on_, std::memory_order_relaxed);
    }
    return now - since_;
  }

 private:
  std::atomic<BlockedOn>& shown_;
  BlockedOn on_;
  Clock::time_point since_{};
  int polls_ = 0;
};

}  // namespace

void run_tasks(std::span<Task> tasks, Doorbell& doorbell, const WaitPolicy& policy,
               std::atomic<BlockedOn>& blocked_on) {
  std::size_t unfinished = tasks.size();
  Idleness idleness(blocked_on);
  while (true) {
    if (step_all(tasks, unfinished)) {
      idleness.over();
      if (unfinished == 0) return;
      continue;
    }
    if (doorbell.aborted()) throw Error(ErrorCode::kAborted, "told to stop: " + describe(tasks));
    if (!idleness.poll()) {
      relax();
      continue;
    }
    auto idle = idleness.since(first_wait(tasks)->blocked_on());
    if (idle >= policy.timeout) fail_timeout(tasks, policy.timeout);
    if (idle < policy.spin) continue;
    auto ticket = doorbell.prepare_to_sleep();
    if (step_all(tasks, unfinished) || doorbell.aborted()) {
      doorbell.stay_awake();
      idleness.over();
      if (unfinished == 0) return;
      continue;
    }
    doorbell.sleep(ticket, std::min<std::chrono::nanoseconds>(kNap, policy.timeout - idle));
    idleness.look_again();
  }
}

}  // namespace railgauge
