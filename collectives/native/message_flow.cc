// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/message_flow.h"

#include <algorithm>
#include <cstring>

#include "transports/native/error.h"

namespace railgauge {

namespace {

// The tag of a message in a connection: what it is, and the number of the offer that it is about.
enum class MessageKind : std::uint32_t { kShort, kOffer, kAccept, kData };
constexpr std::uint32_t kOfferBits = 30, kOffers = 1u << kOfferBits;

// Up to here a second copy, where no receive is posted, costs less than an offer's answer.
constexpr std::size_t kShortBytes = 32 << 10;

std::uint32_t tag_of(MessageKind kind, std::uint32_t offer = 0) {
  return static_cast<std::uint32_t>(kind) << kOfferBits | offer;
}

[[noreturn]] void refuse(int rank) {
  throw Error(ErrorCode::kMismatch, "rank " + std::to_string(rank) +
                                        " sent an invalid message: is the same version of "
                                        "railgauge installed on its host?");
}

void check_agrees(const Transfer& receive, const Arrived& message) {
  const Envelope own = receive.envelope(), &theirs = message.envelope;
  if (own.count == theirs.count && own.dtype == theirs.dtype) return;
  throw Error(ErrorCode::kMismatch,
              "rank " + std::to_string(message.rank) + " sent " + std::to_string(theirs.count) +
                  " " + dtype_name(static_cast<Dtype>(theirs.dtype)) + " with tag " +
                  std::to_string(theirs.tag) + " to this rank's " + receive.describe());
}

}  // namespace

MessageFlow::MessageFlow(int rank, std::vector<Pair> pairs) : rank_(rank), peers_(pairs.size()) {
  for (std::size_t peer = 0; peer < pairs.size(); ++peer) peers_[peer].ends = pairs[peer];
}

void MessageFlow::start(const TransferPtr& transfer) {
  transfer->number = ++started_;
  transfer->moved_at = Clock::now();
  under_way_.emplace(transfer->number, transfer);
  if (transfer->kind == Transfer::Kind::kRecv) {
    start_receive(transfer);
  } else if (transfer->peer == rank_) {
    send_to_itself(transfer);
  } else if (Peer& peer = peers_[transfer->peer]; peer.gone) {
    finish(transfer, peer.gone);
  } else {
    peer.announced.push_back(transfer);
  }
}

void MessageFlow::start_receive(const TransferPtr& receive) {
  if (auto message = matching_.take_arrived(*receive)) {
    deliver(receive, *message, message->own ? message->own->data : message->data.data());
  } else if (receive->peer != Transfer::kAnyRank && peers_[receive->peer].gone) {
    finish(receive, peers_[receive->peer].gone);
  } else {
    matching_.post(receive);
  }
}

void MessageFlow::send_to_itself(const TransferPtr& send) {
  Arrived message{.rank = rank_, .envelope = send->envelope()};
  if (TransferPtr receive = matching_.take_posted(rank_, message.envelope)) {
    deliver(receive, message, send->data);
    finish(send);
  } else if (send->bytes() <= kShortBytes) {
    message.data.assign(send->data, send->data + send->bytes());
    matching_.keep(std::move(message));
    finish(send);
  } else {
    message.own = send;
    matching_.keep(std::move(message));
  }
}

bool MessageFlow::progress() {
  bool moved = false;
  for (int rank = 0; rank < ranks(); ++rank) {
    Peer& peer = peers_[rank];
    if (rank == rank_ || peer.gone) continue;
    try {
      moved |= receive_from(rank);
      moved |= send_to(peer);
    } catch (const PeerLost&) {
      lose(peer, rank, std::current_exception());
      moved = true;
    }
  }
  return moved;
}

bool MessageFlow::receive_from(int rank) {
  Receiver& from = *peers_[rank].ends.from;
  bool moved = false;
  for (Message message = from.front(); message.data; message = from.front()) {
    take(rank, message);
    from.pop();
    moved = true;
  }
  return moved;
}

bool MessageFlow::send_to(Peer& peer) {
  Sender& to = *peer.ends.to;
  bool moved = false;
  while (!peer.accepts.empty() || !peer.announced.empty() || !peer.leaving.empty()) {
    std::byte* slot = to.acquire();
    if (slot == nullptr) break;
    moved = true;
    if (!peer.accepts.empty()) {
      to.post(0, tag_of(MessageKind::kAccept, peer.accepts.front()));
      peer.accepts.pop_front();
    } else if (!peer.announced.empty()) {
      announce(peer, slot);
    } else {
      send_data(peer, slot);
    }
  }
  return moved;
}

// Sends the next short message or offer.
void MessageFlow::announce(Peer& peer, std::byte* slot) {
  const TransferPtr send = std::move(peer.announced.front());
  peer.announced.pop_front();
  const Envelope envelope = send->envelope();
  const std::size_t room = peer.ends.to->slot_bytes() - sizeof envelope, bytes = send->bytes();
  std::memcpy(slot, &envelope, sizeof envelope);
  if (bytes <= std::min(kShortBytes, room)) {
    if (bytes > 0) std::memcpy(slot + sizeof envelope, send->data, bytes);
    peer.ends.to->post(sizeof envelope + bytes, tag_of(MessageKind::kShort));
    return finish(send);
  }
  send->offer = peer.offers++ % kOffers;
  peer.ends.to->post(sizeof envelope, tag_of(MessageKind::kOffer, send->offer));
  peer.offered.emplace(send->offer, send);
}

void MessageFlow::send_data(Peer& peer, std::byte* slot) {
  const TransferPtr send = peer.leaving.front();
  const std::size_t some = std::min(peer.ends.to->slot_bytes(), send->bytes() - send->moved);
  std::memcpy(slot, send->data + send->moved, some);
  peer.ends.to->post(some, tag_of(MessageKind::kData, send->offer));
  send->moved += some;
  send->moved_at = Clock::now();
  if (send->moved < send->bytes()) return;
  peer.leaving.pop_front();
  finish(send);
}

void MessageFlow::take(int rank, const Message& message) {
  const auto kind = static_cast<MessageKind>(message.tag >> kOfferBits);
  if (kind == MessageKind::kData) return take_data(rank, message);
  if (kind != MessageKind::kAccept)
    return take_announced(rank, message, kind == MessageKind::kOffer);
  Peer& peer = peers_[rank];
  auto send = peer.offered.find(message.tag % kOffers);
  if (send == peer.offered.end()) refuse(rank);
  peer.leaving.push_back(send->second);
  peer.offered.erase(send);
}

void MessageFlow::take_announced(int rank, const Message& message, bool is_offer) {
  Arrived arrived{.rank = rank, .is_offer = is_offer, .offer = message.tag % kOffers};
  Envelope& envelope = arrived.envelope;
  if (message.bytes < sizeof envelope) refuse(rank);
  std::memcpy(&envelope, message.data, sizeof envelope);
  const std::byte* data = message.data + sizeof envelope;
  const std::size_t bytes = message.bytes - sizeof envelope;
  if (envelope.dtype >= kHostDtypes || (is_offer && bytes > 0)) refuse(rank);
  const std::size_t element = dtype_bytes(static_cast<Dtype>(envelope.dtype));
  if (!is_offer && (bytes % element != 0 || bytes / element != envelope.count)) refuse(rank);
  if (TransferPtr receive = matching_.take_posted(rank, envelope)) {
    return deliver(receive, arrived, data);
  }
  arrived.data.assign(data, data + bytes);
  matching_.keep(std::move(arrived));
}

void MessageFlow::take_data(int rank, const Message& message) {
  auto found = peers_[rank].arriving.find(message.tag % kOffers);
  if (found == peers_[rank].arriving.end()) refuse(rank);
  Transfer& receive = *found->second;
  if (message.bytes == 0 || message.bytes > receive.bytes() - receive.moved) refuse(rank);
  std::memcpy(receive.data + receive.moved, message.data, message.bytes);
  receive.moved += message.bytes;
  receive.moved_at = Clock::now();
  if (receive.moved < receive.bytes()) return;
  const TransferPtr done = found->second;
  peers_[rank].arriving.erase(found);
  finish(done);
}

// A receive takes a message; `data` is a short one's.
void MessageFlow::deliver(const TransferPtr& receive, const Arrived& message,
                          const std::byte* data) {
  receive->source = message.rank;
  check_agrees(*receive, message);
  if (message.is_offer) {
    Peer& peer = peers_[message.rank];
    if (peer.gone) return finish(receive, peer.gone);
    if (!peer.arriving.emplace(message.offer, receive).second) refuse(message.rank);
    peer.accepts.push_back(message.offer);
    receive->moved_at = Clock::now();
    return;
  }
  if (receive->bytes() > 0) std::memmove(receive->data, data, receive->bytes());
  finish(receive);
  if (message.own) finish(message.own);
}

// A connection has ended: as planned if nothing is under way there.
void MessageFlow::lose(Peer& peer, int rank, const std::exception_ptr& error) {
  peer.gone = error;
  peer.announced.clear();
  peer.offered.clear();
  peer.leaving.clear();
  peer.arriving.clear();
  std::vector<TransferPtr> lost;
  for (const auto& [number, transfer] : under_way_) {
    if (transfer->peer == rank || transfer->source == rank) lost.push_back(transfer);
  }
  for (const TransferPtr& transfer : lost) {
    matching_.withdraw(transfer);
    finish(transfer, error);
  }
}

void MessageFlow::fail(const std::exception_ptr& error) {
  matching_.clear();
  for (Peer& peer : peers_) {
    peer.announced.clear();
    peer.offered.clear();
    peer.leaving.clear();
    peer.arriving.clear();
  }
  const auto ended = std::move(under_way_);
  under_way_.clear();
  for (const auto& [number, transfer] : ended) finish(transfer, error);
}

void MessageFlow::finish(const TransferPtr& transfer, const std::exception_ptr& error) {
  transfer->error = error;
  under_way_.erase(transfer->number);
  transfer->done.store(true, std::memory_order_release);
}

}  // namespace railgauge
