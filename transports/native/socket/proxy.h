// SPDX-License-Identifier: Apache-2.0
// Drives a rank's sockets. The rank's own thread does it while it waits (Attendant), so that a
// message needs no thread switch and can go directly from and to the caller's memory; for a
// connection with helper threads these do. While the rank sleeps, a thread of the proxy sleeps on
// the sockets and rings the rank's doorbell.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "transports/native/doorbell.h"
#include "transports/native/fd.h"
#include "transports/native/socket/link.h"
#include "transports/native/socket/pump.h"

namespace railgauge::socket {

class Proxy final : public Attendant {
 public:
  // `doorbell` is the rank's own; `linger` is how long closing may take to send what was posted.
  Proxy(std::shared_ptr<Doorbell> doorbell, std::chrono::nanoseconds linger);
  ~Proxy();
  const std::shared_ptr<Doorbell>& doorbell() const { return doorbell_; }
  // Between operations.
  void add(std::shared_ptr<Link> link);
  // Sends what was posted, unless aborted, and closes all sockets; after the last operation. May be
  // called twice.
  void close();
  // From any thread: shuts all sockets down at once, even with messages posted.
  void abort();

  bool attend() override;
  void arm() override;
  int unsettled() const override;
  void give_up() override { gave_up_ = true; }
  bool gave_up() const { return gave_up_; }

 private:
  void ring_for_sleeper();
  void flush(std::chrono::steady_clock::time_point by);

  std::shared_ptr<Doorbell> doorbell_;
  std::chrono::nanoseconds linger_;
  std::mutex mutex_;  // of links_ and of closing them, for abort()
  std::vector<std::shared_ptr<Link>> links_;
  std::vector<Link*> leaving_;  // the attended ones that send
  Pump pump_;                   // of all attended ones
  Fd bell_;                     // an epoll set of the pump, while the rank sleeps, and of end_
  Fd end_;
  bool closed_ = false;
  bool gave_up_ = false;
  std::atomic<bool> aborted_{false};
  std::thread ringer_;
};

}  // namespace railgauge::socket
