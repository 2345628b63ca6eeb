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
    auto [rank, what] = tasks[channel].waiting()->blocked_on();
    text += (text.empty() ? "channel " : ", channel ") + std::to_string(channel) + " waits for " +
            what + " from rank " + std::to_string(rank);
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

}  // namespace

void run_tasks(std::span<Task> tasks, Doorbell& doorbell, const WaitPolicy& policy,
               std::atomic<int>& blocked_on) {
  std::size_t unfinished = tasks.size();
  Clock::time_point idle_since{};
  int polls = 0;
  while (true) {
    if (step_all(tasks, unfinished)) {
      if (unfinished == 0) return;
      if (polls > 0) blocked_on.store(-1, std::memory_order_relaxed);
      polls = 0;
      continue;
    }
    if (doorbell.aborted()) throw Error(ErrorCode::kAborted, "told to stop: " + describe(tasks));
    if (polls++ % kPollsPerClock != 0) {
      relax();
      continue;
    }
    auto now = Clock::now();
    if (polls == 1) {
      idle_since = now;
      blocked_on.store(first_wait(tasks)->blocked_on().first, std::memory_order_relaxed);
    }
    auto idle = now - idle_since;
    if (idle >= policy.timeout) fail_timeout(tasks, policy.timeout);
    if (idle < policy.spin) continue;
    auto ticket = doorbell.prepare_to_sleep();
    bool moved = step_all(tasks, unfinished);
    if (moved || doorbell.aborted()) {
      doorbell.stay_awake();
      if (moved) {
        if (unfinished == 0) return;
        blocked_on.store(-1, std::memory_order_relaxed);
        polls = 0;
      }
      continue;
    }
    doorbell.sleep(ticket, std::min<std::chrono::nanoseconds>(kNap, policy.timeout - idle));
    polls = kPollsPerClock;  // look at the clock again after the next poll
  }
}

}  // namespace railgauge
