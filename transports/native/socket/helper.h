// SPDX-License-Identifier: Apache-2.0
// A helper thread of a connection (NCCL_SOCKET_NTHREADS): moves some of its sockets, so that data
// goes on while the rank computes, on another core.
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
  // `moved` is called after it has moved something or seen the connection end; the lanes, at least
  // one, outlive it.
  Helper(std::vector<Lane*> lanes, std::function<void()> moved);
  ~Helper() { finish({}); }
  void start();
  // Messages or free slots may have come.
  void wake();
  // Ends it: at once, or when the lanes are drained and no later than `by`. Harmless a second time.
  void finish(std::chrono::steady_clock::time_point by);
  // The same, from any thread and without waiting for its end.
  void abort();

 private:
  void run();
  bool move_all();
  bool may_end() const;
  void stir();

  std::vector<Lane*> lanes_;
  std::function<void()> moved_;
  Pump pump_;
  Fd event_;
  bool ended_ = false;  // the end of the connection was told
  std::atomic<bool> asleep_{false};
  std::atomic<bool> aborted_{false};
  std::atomic<bool> ending_{false};
  std::chrono::steady_clock::time_point end_by_{};
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace railgauge::socket
