// SPDX-License-Identifier: Apache-2.0
#include "transports/native/socket/proxy.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>

#include "transports/native/clock.h"
#include "transports/native/error.h"

namespace railgauge::socket {

namespace {

constexpr int kNapMs = 20;  // between two looks for the time, at the end

}  // namespace

Proxy::Proxy(std::shared_ptr<Doorbell> doorbell, std::chrono::nanoseconds linger)
    : doorbell_(std::move(doorbell)),
      linger_(linger),
      bell_(epoll_create1(EPOLL_CLOEXEC)),
      end_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!bell_.open() || !end_.open()) throw system_error("starting a rank's proxy");
  watch(bell_.get(), EPOLL_CTL_ADD, end_.get(), EPOLLIN, nullptr);
  watch(bell_.get(), EPOLL_CTL_ADD, pump_.fd(), EPOLLONESHOT, this);  // not armed
}

Proxy::~Proxy() {
  close();
  if (doorbell_->attendant() == this) doorbell_->attach(nullptr);
}

void Proxy::add(std::shared_ptr<Link> link) {
  Attendant* other = doorbell_->attendant();
  if (other != nullptr && other != this) {
    throw Error(ErrorCode::kInvalid, "a doorbell already has a proxy for sockets");
  }
  std::lock_guard lock(mutex_);
  links_.push_back(link);  // first: pointers to it stay valid if a later step fails
  if (!link->attended()) return;
  for (auto& socket : link->sockets()) pump_.add(*socket);
  if (link->sends()) leaving_.push_back(link.get());
  doorbell_->attach(this);
  if (!ringer_.joinable()) ringer_ = std::thread([this] { ring_for_sleeper(); });
}

void Proxy::close() {
  if (closed_) return;
  closed_ = true;
  const auto by = Clock::now() + linger_;
  if (!aborted_ && !gave_up_) flush(by);
  for (auto& link : links_) link->finish(by);
  {
    std::lock_guard lock(mutex_);
    for (auto& link : links_) link->close();
  }
  eventfd_write(end_.get(), 1);
  if (ringer_.joinable()) ringer_.join();
}

void Proxy::flush(Clock::time_point by) {
  auto all = [&](auto& link) { return link->health().state() || link->drained(); };
  while (!aborted_ && Clock::now() < by && !std::all_of(leaving_.begin(), leaving_.end(), all)) {
    pump_.look(kNapMs);
    for (Link* link : leaving_) link->move();
  }
}

void Proxy::abort() {
  aborted_ = true;
  std::lock_guard lock(mutex_);
  for (auto& link : links_) link->abort();
}

bool Proxy::attend() {
  if (gave_up_) return false;
  bool changed = pump_.look(0);
  for (Link* link : leaving_) changed |= link->move();
  return changed;
}

void Proxy::arm() { watch(bell_.get(), EPOLL_CTL_MOD, pump_.fd(), EPOLLIN | EPOLLONESHOT, this); }

int Proxy::unsettled() const {
  for (Link* link : leaving_) {
    if (link->drained()) continue;
    if (link->health().state()) link->health().raise();
    return link->health().peer();
  }
  return -1;
}

void Proxy::ring_for_sleeper() {
  epoll_event event;
  while (true) {
    if (epoll_wait(bell_.get(), &event, 1, -1) <= 0) continue;
    if (event.data.ptr == nullptr) return;
    doorbell_->ring();
  }
}

}  // namespace railgauge::socket
