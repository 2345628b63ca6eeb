// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/matching.h"

#include <algorithm>

#include "transports/native/error.h"

namespace railgauge {

namespace {

bool belongs(const Transfer& receive, int rank, std::uint32_t tag) {
  return receive.tag == tag && (receive.peer == Transfer::kAnyRank || receive.peer == rank);
}

}  // namespace

std::string Transfer::describe() const {
  const bool sends = kind == Kind::kSend;
  return std::string(sends ? "send" : "recv") + " #" + std::to_string(number) + " of " +
         std::to_string(count) + " " + dtype_name(dtype) + (sends ? " to " : " from ") +
         (peer == kAnyRank ? "any rank" : "rank " + std::to_string(peer)) + ", tag " +
         std::to_string(tag);
}

TransferPtr Matching::take_posted(int rank, const Envelope& envelope) {
  auto found = std::find_if(posted_.begin(), posted_.end(), [&](const TransferPtr& receive) {
    return belongs(*receive, rank, envelope.tag);
  });
  if (found == posted_.end()) return nullptr;
  TransferPtr receive = std::move(*found);
  posted_.erase(found);
  return receive;
}

std::optional<Arrived> Matching::take_arrived(const Transfer& receive) {
  auto found = std::find_if(arrived_.begin(), arrived_.end(), [&](const Arrived& message) {
    return belongs(receive, message.rank, message.envelope.tag);
  });
  if (found == arrived_.end()) return std::nullopt;
  std::optional<Arrived> message = std::move(*found);
  arrived_.erase(found);
  bytes_ -= message->data.size();
  return message;
}

void Matching::keep(Arrived message) {
  bytes_ += message.data.size();
  if (bytes_ > kMostBytes) {
    throw Error(ErrorCode::kMismatch, "rank " + std::to_string(message.rank) +
                                          " sent a message that this rank does not receive, which "
                                          "holds 1 GiB of such messages: tag " +
                                          std::to_string(message.envelope.tag));
  }
  arrived_.push_back(std::move(message));
}

void Matching::clear() {
  posted_.clear();
  arrived_.clear();
  bytes_ = 0;
}

}  // namespace railgauge
