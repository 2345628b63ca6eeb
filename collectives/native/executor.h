// SPDX-License-Identifier: Apache-2.0
// Runs one operation's channels on one thread. A channel's algorithm is a coroutine (Task) that
// awaits primitives; a primitive that cannot continue yet suspends only its channel, so channels
// progress independently. When none can continue, the rank waits (transports/native/waiting.h).
#pragma once

#include <coroutine>
#include <exception>
#include <span>
#include <utility>

#include "transports/native/waiting.h"

namespace railgauge {

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
    std::uint32_t channel = 0;
    std::uint64_t moves = 0;  // begun: the one that it waits in is the last

    Task get_return_object() { return Task(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    // A step starts; returns whether it has to wait.
    bool waits_in(Wait& move) {
      ++moves;
      if (move.ready()) return false;
      wait = &move;
      return true;
    }
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

  // Continues if it can; returns whether it did. Rethrows the algorithm's exception.
  bool step() {
    auto& promise = handle_.promise();
    if (promise.wait && !promise.wait->ready()) return false;
    promise.wait = nullptr;
    handle_.resume();
    if (promise.error) std::rethrow_exception(promise.error);
    return true;
  }
  bool done() const { return handle_.done(); }
  // The rank that it waits for, on its channel, and after how many steps there.
  BlockedOn blocked_on() const {
    const auto& promise = handle_.promise();
    if (!promise.wait) return {};
    return promise.wait->blocked_on().at(promise.channel, promise.moves - 1);
  }
  // The number of the channel that it is part of.
  void on_channel(std::size_t channel) {
    handle_.promise().channel = static_cast<std::uint32_t>(channel);
  }

 private:
  Handle handle_;
};

// Runs all tasks to their end. Throws Error(kTimeout) naming the awaited ranks, Error(kAborted)
// when the rank was aborted, or a task's exception.
void run_tasks(std::span<Task> tasks, Waiting& waiting);

}  // namespace railgauge
