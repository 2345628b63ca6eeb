// SPDX-License-Identifier: Apache-2.0
// A rank's proxy: one thread that moves the messages of all its sockets, so that data goes on while
// the rank computes. It sleeps in epoll(7), where an event counter wakes it for the rank; the rank
// is woken by its doorbell.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "transports/native/doorbell.h"
#include "transports/native/socket/fd.h"
#include "transports/native/socket/wire.h"

namespace railgauge::socket {

class Proxy {
 public:
  // `doorbell` is the rank's own; `linger` is how long the end may take to send what was posted.
  Proxy(std::shared_ptr<Doorbell> doorbell, std::chrono::nanoseconds linger);
  ~Proxy();
  // Sends what was posted, unless told to abort, and closes all sockets. Harmless a second time.
  void close();

  void add(std::shared_ptr<Wire> wire);
  // The rank has filled or emptied a slot.
  void wake();
  // Closes all sockets at once, whatever was posted.
  void abort();

 private:
  void run();
  bool move_all();
  bool move(Wire& wire);
  bool may_end();
  void sleep();
  void stir();
  void close_all();

  std::shared_ptr<Doorbell> doorbell_;
  std::chrono::nanoseconds linger_;
  Fd epoll_;
  Fd event_;
  std::mutex mutex_;  // guards wires_
  std::vector<std::shared_ptr<Wire>> wires_;
  std::atomic<bool> asleep_{false};
  std::atomic<bool> aborted_{false};
  std::atomic<bool> ending_{false};
  std::chrono::steady_clock::time_point end_by_{};
  std::thread thread_;
};

}  // namespace railgauge::socket
