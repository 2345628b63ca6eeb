// SPDX-License-Identifier: Apache-2.0
// The state of a network connection.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

namespace railgauge {

// Shared by all parts of one connection; several threads may report that it failed.
class Health {
 public:
  Health(int peer, std::string address) : peer_(peer), address_(std::move(address)) {}

  enum State { kSound, kEnded, kBroken };

  int peer() const { return peer_; }
  State state() const { return state_.load(std::memory_order_acquire); }
  // Only the first reason is reported. kEnded: between two messages; those before it are still
  // valid.
  void fail(State state, const std::string& why);
  // Throws PeerLost with what ended the connection; for when it is not sound.
  [[noreturn]] void raise() const;
  // This end closes it: later reports are not failures.
  void close() { closing_ = true; }
  bool closing() const { return closing_; }

 private:
  int peer_;
  std::string address_;  // the peer's, for messages
  mutable std::mutex mutex_;
  std::string why_;  // guarded by mutex_
  std::atomic<State> state_{kSound};
  std::atomic<bool> closing_{false};
};

}  // namespace railgauge
