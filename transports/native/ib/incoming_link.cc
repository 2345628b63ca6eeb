// SPDX-License-Identifier: Apache-2.0
#include "transports/native/ib/incoming_link.h"

#include <algorithm>

namespace railgauge::ib {

IncomingLink::IncomingLink(const End& end, const CompletionChannels& channels)
    : Link(end, channels, false), arrived_(memory_.layout().messages()) {}

void IncomingLink::take_piece(const Piece& piece) {
  const std::uint64_t ahead =
      (piece.message - static_cast<std::uint32_t>(popped_)) & Piece::kNumberMask;
  if (ahead >= arrived_.size()) {
    return health_->fail(Health::kBroken, "it sent an invalid message on this connection");
  }
  Arrived& message = arrived_[(popped_ + ahead) % arrived_.size()];
  message = {message.pieces + 1, piece.of, piece.is_short};
}

Message IncomingLink::oldest() {
  const Arrived& message = arrived_[popped_ % arrived_.size()];
  if (message.of == 0 || message.pieces < message.of) return {nullptr, 0};
  const SlotLayout& layout = memory_.layout();
  const std::byte* at = memory_.at(message.is_short ? layout.cell(popped_short_)
                                                    : layout.slot(popped_ - popped_short_));
  Header header;
  std::memcpy(&header, at, sizeof header);
  at += sizeof header;
  std::uint64_t most = message.is_short ? SlotLayout::kCellData : layout.slot_bytes;
  if (message.is_short && (header.bytes & kPlaced) != 0) {
    std::uint64_t place;
    std::memcpy(&place, at, sizeof place);
    header.bytes &= ~kPlaced;
    at = reinterpret_cast<const std::byte*>(remote_.address) + place;
    most = remote_.bytes - std::min(place, remote_.bytes);
  }
  if (header.bytes > most || message.pieces > message.of) {
    health_->fail(Health::kBroken, "it sent an invalid message on this connection");
    return {nullptr, 0};
  }
  return {at, header.bytes, header.tag};
}

void IncomingLink::pop() {
  Arrived& message = arrived_[popped_ % arrived_.size()];
  ++popped_;
  popped_short_ += message.is_short;
  message = {};
  tell_popped();
}

void IncomingLink::tell_popped() {
  const std::uint64_t of_cells = popped_short_ - told_short_, of_slots = popped_ - told_ - of_cells;
  const std::uint32_t half = std::max(1u, memory_.layout().slots / 2);
  if (of_cells < SlotLayout::kCells / 2 && of_slots < half) return;
  if (!can_post() || !pairs_[0]->has_room(2)) return;
  post_receives();
  send_note(count_to_tell(), false);
  told_ = popped_;
  told_short_ = popped_short_;
}

std::string IncomingLink::expose(const std::byte* data, std::size_t bytes, const Region& region) {
  remote_ = {reinterpret_cast<std::uint64_t>(data), bytes, {}};
  for (const auto& pair : pairs_) remote_.rkeys.push_back(region.rkey(pair->rail()));
  return remote_.facts();
}

}  // namespace railgauge::ib
