// SPDX-License-Identifier: Apache-2.0
// A helper thread of a connection (NCCL_SOCKET_NTHREADS): drives some of its sockets, so that data
// moves while the rank computes, on another core.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "transports/native/socket/pump.h"

namespace railgauge::socket {

class Helper {
 public:
  // `moved` is called after it has moved data or seen the connection end; the sockets, at least
  // one, outlive it.
  Helper(std::vector<TcpSocket*> sockets, std::function<void()> moved);
  ~Helper() { finish({}); }
  void start();
  // There may be new messages or free slots.
  void wake();
  // Ends it: at once, or when the sockets are drained and no later than `by`. May be called twice.
  void finish(std::chrono::steady_clock::time_point by);
  // The same, from any thread and without waiting for its end.
  void abort();

 private:
  void run();
  bool move_all();
  bool may_end() const;
  void stir();

  std::vector<TcpSocket*> sockets_;
  std::function<void()> moved_;
  Pump pump_;
  Fd event_;
  bool ended_ = false;  // the end of the connection was reported
  std::atomic<bool> asleep_{false};
  std::atomic<bool> aborted_{false};
  std::atomic<bool> ending_{false};
  std::chrono::steady_clock::time_point end_by_{};
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace railgauge::socket
