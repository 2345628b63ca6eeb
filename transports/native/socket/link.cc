// SPDX-License-Identifier: Apache-2.0
#include "transports/native/socket/link.h"

#include <algorithm>

namespace railgauge::socket {

namespace {

std::uint32_t sockets_of(const End& end) { return static_cast<std::uint32_t>(end.fds.size()); }

// A rank that reads by itself does so when it wants the message, and then into one slot.
std::uint32_t slots_to_receive(const End& end) { return end.threads > 0 ? end.slots : 1; }

}  // namespace

Link::Link(const End& end)
    : fds_(end.fds.begin(), end.fds.end()),
      health_(std::make_shared<Health>(end.peer, end.address)) {
  if (fds_.empty()) throw Error(ErrorCode::kInvalid, "a connection needs at least one socket");
}

template <class OneLane, class OneFifo>
void Link::make_lanes(OneFifo& fifo) {
  const std::size_t count = fds_.size();
  for (std::size_t i = 0; i < count; ++i) {
    lanes_.push_back(std::make_unique<OneLane>(std::move(fds_[i]), i, count, health_, fifo));
  }
  fds_.clear();
}

void Link::start(const End& end, const std::shared_ptr<Doorbell>& doorbell) {
  const std::size_t threads =
      std::min(lanes_.size(), static_cast<std::size_t>(std::max(0, end.threads)));
  std::vector<std::vector<Lane*>> shares(threads);
  for (std::size_t i = 0; threads > 0 && i < lanes_.size(); ++i) {
    shares[i % threads].push_back(lanes_[i].get());
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
  for (auto& lane : lanes_) moved |= lane->move();
  return moved;
}

void Link::wake() {
  for (auto& helper : helpers_) helper->wake();
}

bool Link::drained() const {
  return std::all_of(lanes_.begin(), lanes_.end(), [](auto& lane) { return lane->drained(); });
}

void Link::abort() {
  health_->close();
  for (auto& lane : lanes_) lane->cut();
  for (auto& helper : helpers_) helper->abort();
}

void Link::finish(std::chrono::steady_clock::time_point by) {
  for (auto& helper : helpers_) helper->finish(by);
}

void Link::close() {
  health_->close();
  for (auto& lane : lanes_) lane->close();
}

OutgoingLink::OutgoingLink(const End& end, const std::shared_ptr<Doorbell>& doorbell)
    : Link(end), fifo_(end.slots, end.slot_bytes, sockets_of(end)) {
  make_lanes<OutgoingLane>(fifo_);
  start(end, doorbell);
}

IncomingLink::IncomingLink(const End& end, const std::shared_ptr<Doorbell>& doorbell)
    : Link(end), fifo_(slots_to_receive(end), end.slot_bytes, sockets_of(end)) {
  make_lanes<IncomingLane>(fifo_);
  start(end, doorbell);
}

}  // namespace railgauge::socket
