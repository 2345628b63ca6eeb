// SPDX-License-Identifier: Apache-2.0
// The sockets that one thread moves, in an epoll(7) set. Edge-triggered: after a call that would
// block, one event comes when it would no more, so that sockets which have nothing to do cost no
// call.
#pragma once

#include "transports/native/fd.h"
#include "transports/native/socket/lane.h"

namespace railgauge::socket {

class Pump {
 public:
  Pump();
  void add(Lane& lane);
  // Tells the lanes what happened, after waiting for it up to `timeout_ms`; whether anything did.
  bool look(int timeout_ms);
  // Readable while something has happened.
  int fd() const { return epoll_.get(); }

 private:
  Fd epoll_;
};

// Adds `fd` to an epoll set, or changes what it is watched for.
void watch(int epoll, int operation, int fd, std::uint32_t events, void* mark);

}  // namespace railgauge::socket
