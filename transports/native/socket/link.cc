// SPDX-License-Identifier: Apache-2.0
#include "transports/native/socket/link.h"

#include <algorithm>

namespace railgauge::socket {

namespace {

std::uint32_t sockets_of(const End& end) { return static_cast<std::uint32_t>(end.fds.size()); }

// A rank that reads by itself does so when it needs the message, and then into one slot.
std::uint32_t slots_to_receive(const End& end) { return end.threads > 0 ? end.slots : 1; }

}  // namespace

Link::Link(const End& end)
    : fds_(end.fds.begin(), end.fds.end()),
      health_(std::make_shared<Health>(end.peer, end.address)) {
  if (fds_.empty()) throw Error(ErrorCode::kInvalid, "a connection needs at least one socket");
}

template <class OneSocket, class OneFifo>
void Link::make_sockets(OneFifo& fifo) {
  const std::size_t count = fds_.size();
  for (std::size_t i = 0; i < count; ++i) {
    sockets_.push_back(std::make_unique<OneSocket>(std::move(fds_[i]), i, count, health_, fifo));
  }
  fds_.clear();
}

void Link::start(const End& end, const std::shared_ptr<Doorbell>& doorbell) {
  const std::size_t threads =
      std::min(sockets_.size(), static_cast<std::size_t>(std::max(0, end.threads)));
  std::vector<std::vector<TcpSocket*>> shares(threads);
  for (std::size_t i = 0; threads > 0 && i < sockets_.size(); ++i) {
    shares[i % threads].push_back(sockets_[i].get());
  }
  for (std::size_t i = 0; i < threads; ++i) {
    const bool opens = i == 0 && !sends();  // messages, by the first socket, for the others
    helpers_.push_back(std::make_unique<Helper>(std::move(shares[i]), [this, doorbell, opens] {
      if (opens) wake();
      doorbell->ring();
    }));
  }
  try {
    for (auto& helper : helpers_) helper->start();  // all are there: they wake each other
  } catch (...) {
    finish({});  // those that run use the messages, which go before the helpers
    throw;
  }
}

bool Link::move() {
  bool moved = false;
  for (auto& socket : sockets_) moved |= socket->move();
  return moved;
}

void Link::wake() {
  for (auto& helper : helpers_) helper->wake();
}

bool Link::drained() const {
  return std::all_of(sockets_.begin(), sockets_.end(),
                     [](auto& socket) { return socket->drained(); });
}

void Link::abort() {
  health_->close();
  for (auto& socket : sockets_) socket->cut();
  for (auto& helper : helpers_) helper->abort();
}

void Link::finish(std::chrono::steady_clock::time_point by) {
  for (auto& helper : helpers_) helper->finish(by);
}

void Link::close() {
  health_->close();
  for (auto& socket : sockets_) socket->close();
}

OutgoingLink::OutgoingLink(const End& end, const std::shared_ptr<Doorbell>& doorbell)
    : Link(end), fifo_(end.slots, end.slot_bytes, sockets_of(end)) {
  make_sockets<OutgoingSocket>(fifo_);
  start(end, doorbell);
}

IncomingLink::IncomingLink(const End& end, const std::shared_ptr<Doorbell>& doorbell)
    : Link(end), fifo_(slots_to_receive(end), end.slot_bytes, sockets_of(end)) {
  make_sockets<IncomingSocket>(fifo_);
  start(end, doorbell);
}

}  // namespace railgauge::socket
