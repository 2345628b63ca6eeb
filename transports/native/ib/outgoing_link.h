// SPDX-License-Identifier: Apache-2.0
// The sending end of a connection: from its own slots, or from memory of the caller's that is
// registered, to the peer's slots, cells or registered memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "transports/native/ib/link.h"
#include "transports/native/ib/remote_memory.h"

namespace railgauge::ib {

class OutgoingLink final : public Link {
 public:
  OutgoingLink(const End& end, const CompletionChannels& channels);

  // The next slot, or nullptr while the peer has not read that many messages.
  std::byte* vacant() const;
  // Sends what was put into the vacant slot.
  void push(std::size_t bytes, std::uint32_t tag);
  // Whether a message uses a cell, and so can come from any memory.
  static bool is_short(std::size_t bytes) { return bytes <= SlotLayout::kCellData; }
  void push_short(const void* data, std::size_t bytes, std::uint32_t tag);
  // Sends a long message from memory of the caller's, of `region`, while lends().
  void lend(const std::byte* data, std::size_t bytes, std::uint32_t tag, const Region& region);
  bool lends() const override;

  // Into the memory described by the peer's IncomingLink::expose().
  void aim(const std::string& remote_facts);
  bool aims() const { return remote_.bytes > 0; }
  // Sends from `region`, as lend() does, into that memory, at offset `at`.
  void put(const std::byte* data, std::size_t bytes, std::size_t at, std::uint32_t tag,
           const Region& region);

 private:
  enum class Memory { kOwn, kCallers };
  struct Target {
    std::uint64_t address;
    std::uint32_t rkey;
  };
  void take_note(std::uint32_t count) override;
  void take_piece(const Piece& piece) override;
  std::uint32_t count_to_tell() const override { return static_cast<std::uint32_t>(posted_); }
  void after_move() override { post_receives(); }

  void send_short(Header header, const void* data, std::size_t bytes, std::uint32_t pieces);
  void send_long(const std::byte* data, std::size_t bytes, std::uint32_t tag, const Region& region,
                 Memory memory);
  void write(std::uint32_t pair, std::span<abi::Sge> parts, Target to, const Piece* piece,
             Memory memory);
  void announce(std::uint32_t pair, const Piece& piece);
  void sent(bool is_short);

  std::uint64_t posted_ = 0, popped_ = 0;              // there
  std::uint64_t posted_short_ = 0, popped_short_ = 0;  // those of them that went to cells
  std::vector<bool> short_;                            // of each message that is under way
  std::vector<std::uint64_t> lent_;                    // of each queue pair, its last such send
  RemoteMemory remote_;
};

}  // namespace railgauge::ib
