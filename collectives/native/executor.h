// SPDX-License-Identifier: Apache-2.0
// Runs one operation's channels on one thread. A channel's algorithm is a coroutine (Task) that
// awaits primitives; a primitive that cannot go on yet suspends its channel alone, so channels
// progress independently. When none can go on, the thread spins briefly and then sleeps on the
// rank's doorbell, so that more ranks than cores still make progress.
#pragma once

#include <atomic>
#include <chrono>
#include <coroutine>
#include <exception>
#include <span>
#include <string>
#include <utility>

#include "transports/native/doorbell.h"

namespace railgauge {

// The rank that has to act before a channel can go on, and what it has to do.
struct BlockedOn {
  int rank = -1;       // -1: nobody
  int frees_slot = 0;  // 1: free a slot; 0: send data
  bool operator==(const BlockedOn&) const = default;
};

// Something a channel waits for.
class Wait {
 public:
  virtual bool ready() = 0;
  virtual BlockedOn blocked_on() const = 0;

 protected:
  ~Wait() = default;
};

class Task {
 public:
  struct promise_type {
    Wait* wait = nullptr;
    std::exception_ptr error;

    Task get_return_object() { return Task(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { error = std::current_exception(); }
  };
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // Goes on if it can; returns whether it did. Rethrows what the algorithm threw.
  bool step() {
    auto& promise = handle_.promise();
    if (promise.wait && !promise.wait->ready()) return false;
    promise.wait = nullptr;
    handle_.resume();
    if (promise.error) std::rethrow_exception(promise.error);
    return true;
  }
  bool done() const { return handle_.done(); }
  const Wait* waiting() const { return handle_.promise().wait; }

 private:
  Handle handle_;
};

struct WaitPolicy {
  std::chrono::nanoseconds timeout;  // longest time without any progress
  std::chrono::nanoseconds spin;     // how long to poll before sleeping
};

// Runs all tasks to their end. Throws Error(kTimeout) naming the ranks waited for, Error(kAborted)
// when `doorbell` was told to abort, or what a task threw. `blocked_on` shows other threads what
// the first waiting channel waits for while nothing moves; after a throw it stays as it was.
void run_tasks(std::span<Task> tasks, Doorbell& doorbell, const WaitPolicy& policy,
               std::atomic<BlockedOn>& blocked_on);

}  // namespace railgauge
