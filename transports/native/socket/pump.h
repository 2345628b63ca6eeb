// SPDX-License-Identifier: Apache-2.0
// The sockets that one thread drives, in an epoll(7) set. Edge-triggered: after a call that would
// block, one event arrives when it no longer would, so that idle sockets cost no call.
#pragma once

#include "transports/native/fd.h"
#include "transports/native/socket/tcp_socket.h"

namespace railgauge::socket {

class Pump {
 public:
  Pump();
  void add(TcpSocket& socket);
  // Passes events to the sockets, after waiting up to `timeout_ms`; returns whether there were any.
  bool look(int timeout_ms);
  // Readable while there are events.
  int fd() const { return epoll_.get(); }

 private:
  Fd epoll_;
};

// Adds `fd` to an epoll set, or changes what it is watched for.
void watch(int epoll, int operation, int fd, std::uint32_t events, void* mark);

}  // namespace railgauge::socket
