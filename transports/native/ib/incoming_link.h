// SPDX-License-Identifier: Apache-2.0
// The receiving end of a connection: messages in the order in which they were sent, whatever order
// their pieces arrive in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transports/native/ib/link.h"
#include "transports/native/ib/remote_memory.h"

namespace railgauge::ib {

class IncomingLink final : public Link {
 public:
  IncomingLink(const End& end, const CompletionChannels& channels);

  // The oldest message if all of it is there, else {nullptr, 0}.
  Message oldest();
  void pop();
  // Whether nothing more arrives, given the connection's state before the last poll.
  bool is_over(Health::State state) const {
    return state == Health::kBroken || (state == Health::kEnded && bye_count_ == count_to_tell());
  }
  // Lets the peer put messages into memory of `region`, which must allow it; returns the argument
  // of the peer's OutgoingLink::aim().
  std::string expose(const std::byte* data, std::size_t bytes, const Region& region);

 private:
  struct Arrived {
    std::uint32_t pieces = 0, of = 0;
    bool is_short = false;
  };
  void take_note(std::uint32_t) override {}
  void take_piece(const Piece& piece) override;
  void after_move() override { tell_popped(); }
  std::uint32_t count_to_tell() const override {
    return static_cast<std::uint32_t>(popped_) & ~kBye;
  }
  // Once half of the slots, or of the cells, are free without the peer knowing.
  void tell_popped();

  std::vector<Arrived> arrived_;  // of each message that may be under way
  std::uint64_t popped_ = 0, popped_short_ = 0;
  std::uint64_t told_ = 0, told_short_ = 0;
  RemoteMemory remote_;
};

}  // namespace railgauge::ib
