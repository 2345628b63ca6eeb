// SPDX-License-Identifier: Apache-2.0
#include "transports/native/ib/outgoing_link.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace railgauge::ib {

namespace {

abi::Sge part(const void* data, std::size_t bytes, std::uint32_t lkey) {
  return {reinterpret_cast<std::uint64_t>(data), static_cast<std::uint32_t>(bytes), lkey};
}

}  // namespace

OutgoingLink::OutgoingLink(const End& end, const CompletionChannels& channels)
    : Link(end, channels, true), short_(memory_.layout().messages()), lent_(pairs_.size()) {}

std::byte* OutgoingLink::vacant() const {
  const SlotLayout& layout = memory_.layout();
  const std::uint64_t under_way = posted_ - popped_;
  const std::uint64_t of_them_short = posted_short_ - popped_short_;
  if (!connected() || of_them_short >= SlotLayout::kCells) return nullptr;
  if (under_way - of_them_short >= layout.slots) return nullptr;
  const Striping::Cut most = striping_.cut(layout.slot_bytes);
  for (std::uint32_t piece = 0; piece < most.pieces; ++piece) {
    if (!pairs_[striping_.queue_pair(posted_, piece)]->has_room(kWritesOfPiece + kSpare - 1)) {
      return nullptr;
    }
  }
  return memory_.at(layout.slot(posted_ - posted_short_) + sizeof(Header));
}

void OutgoingLink::push(std::size_t bytes, std::uint32_t tag) {
  const std::byte* data =
      memory_.at(memory_.layout().slot(posted_ - posted_short_) + sizeof(Header));
  if (is_short(bytes)) return push_short(data, bytes, tag);
  send_long(data, bytes, tag, memory_.region(), Memory::kOwn);
}

void OutgoingLink::push_short(const void* data, std::size_t bytes, std::uint32_t tag) {
  send_short({static_cast<std::uint32_t>(bytes), tag}, data, bytes, 1);
}

void OutgoingLink::lend(const std::byte* data, std::size_t bytes, std::uint32_t tag,
                        const Region& region) {
  send_long(data, bytes, tag, region, Memory::kCallers);
}

void OutgoingLink::send_short(Header header, const void* data, std::size_t bytes,
                              std::uint32_t pieces) {
  const std::uint32_t number = striping_.queue_pair(posted_, 0);
  const std::size_t cell = memory_.layout().cell(posted_short_);
  std::byte* from = memory_.at(cell);
  std::memcpy(from, &header, sizeof header);
  std::memcpy(from + sizeof header, data, bytes);
  abi::Sge whole[] = {
      part(from, sizeof header + bytes, memory_.region().lkey(pairs_[number]->rail()))};
  const Piece piece{static_cast<std::uint32_t>(posted_), true, pieces};
  write(number, whole, {peer_memory_ + cell, peer_rkeys_[number]}, &piece, Memory::kOwn);
  sent(true);
}

void OutgoingLink::send_long(const std::byte* data, std::size_t bytes, std::uint32_t tag,
                             const Region& region, Memory memory) {
  const std::size_t slot = memory_.layout().slot(posted_ - posted_short_);
  Header& header = *reinterpret_cast<Header*>(memory_.at(slot));
  header = {static_cast<std::uint32_t>(bytes), tag};
  const Striping::Cut cut = striping_.cut(bytes);
  const Piece piece{static_cast<std::uint32_t>(posted_), false, cut.pieces};
  for (std::uint32_t at = 0; at < cut.pieces; ++at) {
    const std::uint32_t number = striping_.queue_pair(posted_, at);
    const Rail& rail = pairs_[number]->rail();
    const std::size_t begin = at * cut.size, end = std::min(bytes, begin + cut.size);
    abi::Sge parts[] = {part(&header, sizeof header, memory_.region().lkey(rail)),
                        part(data + begin, end - begin, region.lkey(rail))};
    // The first piece has the header before it.
    const std::size_t ahead = at == 0 ? 0 : sizeof header;
    const Target target{peer_memory_ + slot + ahead + begin, peer_rkeys_[number]};
    write(number, std::span(parts).subspan(at == 0 ? 0 : 1), target, &piece, memory);
  }
  sent(false);
}

void OutgoingLink::aim(const std::string& remote_facts) {
  remote_ = RemoteMemory::from(remote_facts, pairs_.size());
}

void OutgoingLink::put(const std::byte* data, std::size_t bytes, std::size_t at, std::uint32_t tag,
                       const Region& region) {
  if (bytes > remote_.bytes || at > remote_.bytes - bytes) {
    throw Error(ErrorCode::kInvalid, "a message is outside the peer's registered memory");
  }
  const Striping::Cut cut = striping_.cut(bytes);
  const Piece piece{static_cast<std::uint32_t>(posted_), true, cut.pieces};
  for (std::uint32_t each = 0; each < cut.pieces; ++each) {
    const std::uint32_t number = striping_.queue_pair(posted_, each);
    const std::size_t begin = each * cut.size, end = std::min(bytes, begin + cut.size);
    abi::Sge parts[] = {part(data + begin, end - begin, region.lkey(pairs_[number]->rail()))};
    const Target target{remote_.address + at + begin, remote_.rkeys[number]};
    write(number, parts, target, nullptr, Memory::kCallers);
    if (each > 0) announce(number, piece);
  }
  const std::uint64_t place = at;
  send_short({static_cast<std::uint32_t>(bytes) | kPlaced, tag}, &place, sizeof place, cut.pieces);
}

// One RDMA WRITE. A piece notifies the peer, by itself or, if packets may arrive in any order, with
// an empty write after it.
void OutgoingLink::write(std::uint32_t number, std::span<abi::Sge> parts, Target to,
                         const Piece* piece, Memory memory) {
  QueuePair& pair = *pairs_[number];
  std::size_t bytes = 0;
  for (const abi::Sge& part : parts) bytes += part.length;
  abi::SendWr wr{};
  wr.sg_list = parts.data();
  wr.num_sge = static_cast<int>(parts.size());
  wr.wr.rdma = {to.address, to.rkey};
  const bool callers = memory == Memory::kCallers;  // the host may not reach it
  if (!callers && bytes <= pair.inline_bytes()) wr.send_flags = abi::kSendInline;
  const std::int64_t threshold = pair.rail().settings().adaptive_threshold;
  const bool apart = threshold >= 0 && static_cast<std::int64_t>(bytes) > threshold;
  if (piece != nullptr && !apart) {
    wr.opcode = abi::kWrRdmaWriteWithImm;
    wr.imm_data = htonl(piece->immediate());
  } else {
    wr.opcode = abi::kWrRdmaWrite;
  }
  const std::uint64_t send = pair.post(wr, callers);
  if (callers) lent_[number] = send;
  if (piece != nullptr && apart) announce(number, *piece);
}

void OutgoingLink::announce(std::uint32_t number, const Piece& piece) {
  abi::SendWr wr{};
  wr.opcode = abi::kWrRdmaWriteWithImm;
  wr.imm_data = htonl(piece.immediate());
  pairs_[number]->post(wr, false);
}

void OutgoingLink::sent(bool is_short) {
  short_[posted_ % short_.size()] = is_short;
  ++posted_;
  posted_short_ += is_short;
}

bool OutgoingLink::lends() const {
  if (health_->state() == Health::kEnded) return false;  // the peer has read all that it wanted
  for (std::size_t number = 0; number < pairs_.size(); ++number) {
    if (pairs_[number]->done() < lent_[number]) return true;
  }
  return false;
}

void OutgoingLink::take_note(std::uint32_t count) {
  std::uint32_t more = (count - static_cast<std::uint32_t>(popped_)) & ~kBye;
  if (more > posted_ - popped_) {
    return health_->fail(Health::kBroken, "it acknowledged messages that were not sent");
  }
  for (; more > 0; --more) popped_short_ += short_[popped_++ % short_.size()];
}

void OutgoingLink::take_piece(const Piece&) {
  health_->fail(Health::kBroken, "it sent data on a connection on which it receives");
}

}  // namespace railgauge::ib
