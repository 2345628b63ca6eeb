// SPDX-License-Identifier: Apache-2.0
#include "transports/native/socket/helper.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>

#include "transports/native/clock.h"
#include "transports/native/error.h"

namespace railgauge::socket {

namespace {

// How long the thread sleeps before it polls by itself; an event wakes it at once.
constexpr int kHelperNapMs = 100;

}  // namespace

Helper::Helper(std::vector<TcpSocket*> sockets, std::function<void()> moved)
    : sockets_(std::move(sockets)),
      moved_(std::move(moved)),
      event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_.open()) throw system_error("starting a helper thread");
  watch(pump_.fd(), EPOLL_CTL_ADD, event_.get(), EPOLLIN | EPOLLET, nullptr);
  for (TcpSocket* socket : sockets_) pump_.add(*socket);
}

void Helper::start() {
  thread_ = std::thread([this] { run(); });
}

void Helper::wake() {
  // Pairs with run(): either this load sees it asleep, or its last poll sees our message.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_relaxed)) stir();
}

void Helper::finish(Clock::time_point by) {
  if (!thread_.joinable()) return;
  end_by_ = by;
  ending_ = true;
  stir();
  thread_.join();
}

void Helper::abort() {
  aborted_ = true;
  stir();
}

void Helper::stir() { eventfd_write(event_.get(), 1); }

void Helper::run() {
  while (!aborted_ && !may_end()) {
    if (move_all()) continue;
    asleep_.store(true, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!move_all() && !aborted_ && !may_end()) pump_.look(kHelperNapMs);
    asleep_.store(false, std::memory_order_relaxed);
  }
}

bool Helper::move_all() {
  bool moved = false;
  for (TcpSocket* socket : sockets_) moved |= socket->move();
  const bool ends = !ended_ && sockets_.front()->ended();  // they have one health
  ended_ |= ends;
  if (moved || ends) moved_();
  return moved;
}

bool Helper::may_end() const {
  if (!ending_) return false;
  return Clock::now() >= end_by_ ||
         std::all_of(sockets_.begin(), sockets_.end(),
                     [](TcpSocket* socket) { return socket->drained() || socket->ended(); });
}

}  // namespace railgauge::socket
