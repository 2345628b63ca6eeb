// SPDX-License-Identifier: Apache-2.0
#include "transports/native/socket/proxy.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>

#include "transports/native/error.h"

namespace railgauge::socket {

namespace {

using Clock = std::chrono::steady_clock;

// How long the thread sleeps before it looks around by itself; an event wakes it at once.
constexpr int kNapMs = 100;
constexpr int kEvents = 64;

// Edge-triggered: after a call that would block, one event comes when it would no more.
void watch(int epoll, int fd, std::uint32_t events, Wire* wire) {
  epoll_event event{};
  event.events = events | EPOLLET;
  event.data.ptr = wire;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) throw system_error("watching a socket");
}

}  // namespace

Proxy::Proxy(std::shared_ptr<Doorbell> doorbell, std::chrono::nanoseconds linger)
    : doorbell_(std::move(doorbell)),
      linger_(linger),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!epoll_.open() || !event_.open()) throw system_error("starting a rank's proxy");
  watch(epoll_.get(), event_.get(), EPOLLIN, nullptr);
  thread_ = std::thread([this] { run(); });
}

Proxy::~Proxy() { close(); }

void Proxy::close() {
  ending_ = true;
  stir();
  if (thread_.joinable()) thread_.join();
}

void Proxy::add(std::shared_ptr<Wire> wire) {
  std::lock_guard lock(mutex_);
  watch(epoll_.get(), wire->fd(), EPOLLIN | EPOLLOUT | EPOLLRDHUP, wire.get());
  wires_.push_back(std::move(wire));
}

void Proxy::wake() {
  // Pairs with run(): either this load sees it asleep, or its last look sees our slot.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_relaxed)) stir();
}

void Proxy::abort() {
  aborted_ = true;
  stir();
}

void Proxy::stir() { eventfd_write(event_.get(), 1); }

void Proxy::run() {
  while (!aborted_ && !may_end()) {
    if (move_all()) continue;
    asleep_.store(true, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!move_all() && !aborted_ && !may_end()) sleep();
    asleep_.store(false, std::memory_order_relaxed);
  }
  close_all();
}

// One system call for each socket in turn, so that none starves.
bool Proxy::move_all() {
  std::lock_guard lock(mutex_);
  bool moved = false;
  for (auto& wire : wires_) {
    if (wire->open() && move(*wire)) moved = true;
  }
  return moved;
}

bool Proxy::move(Wire& wire) {
  bool moved = wire.progress();
  if (moved || !wire.open()) doorbell_->ring();
  return moved;
}

bool Proxy::may_end() {
  if (!ending_) return false;
  if (end_by_ == Clock::time_point{}) end_by_ = Clock::now() + linger_;
  std::lock_guard lock(mutex_);
  return Clock::now() >= end_by_ || std::all_of(wires_.begin(), wires_.end(), [](auto& wire) {
           return !wire->open() || wire->drained();
         });
}

void Proxy::sleep() {
  epoll_event events[kEvents];
  int count = epoll_wait(epoll_.get(), events, kEvents, kNapMs);
  std::lock_guard lock(mutex_);
  for (int i = 0; i < count; ++i) {
    auto* wire = static_cast<Wire*>(events[i].data.ptr);
    if (wire == nullptr || !(events[i].events & (EPOLLRDHUP | EPOLLHUP))) continue;
    wire->hung_up();
    if (wire->failed()) doorbell_->ring();
  }
}

void Proxy::close_all() {
  std::lock_guard lock(mutex_);
  for (auto& wire : wires_) wire->close();
}

}  // namespace railgauge::socket
