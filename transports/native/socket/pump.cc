// SPDX-License-Identifier: Apache-2.0
#include "transports/native/socket/pump.h"

#include <sys/epoll.h>

#include "transports/native/error.h"

namespace railgauge::socket {

namespace {

constexpr int kEvents = 64;

}  // namespace

void watch(int epoll, int operation, int fd, std::uint32_t events, void* mark) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = mark;
  if (epoll_ctl(epoll, operation, fd, &event) != 0) throw system_error("watching a socket");
}

Pump::Pump() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_.open()) throw system_error("making an epoll set");
}

void Pump::add(TcpSocket& socket) {
  watch(epoll_.get(), EPOLL_CTL_ADD, socket.fd(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
        &socket);
}

bool Pump::look(int timeout_ms) {
  epoll_event events[kEvents];
  int count = epoll_wait(epoll_.get(), events, kEvents, timeout_ms);
  for (int i = 0; i < count; ++i) {
    if (events[i].data.ptr) static_cast<TcpSocket*>(events[i].data.ptr)->hear(events[i].events);
  }
  return count > 0;
}

}  // namespace railgauge::socket
