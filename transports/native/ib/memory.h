// SPDX-License-Identifier: Apache-2.0
// The slots of one end of a connection: memory that every rail's device may use. A message lies
// behind its header, so that one write moves both, and is 64-byte aligned.
//
//   | ... 56 bytes unused | length, 4 bytes | tag, 4 bytes | data, slot_bytes | next slot ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transports/native/ib/rail.h"

namespace railgauge::ib {

struct Header {
  std::uint32_t bytes, tag;
};

// Where slots lie, at this end or, by its first address, at the other one.
struct SlotLayout {
  static constexpr std::size_t kAlign = 64;
  std::uint32_t slots, slot_bytes;

  std::size_t stride() const { return slot_bytes + kAlign; }
  std::size_t bytes() const { return slots * stride(); }
  // Of the header, behind which the data lies.
  std::size_t offset(std::uint64_t message) const {
    return message % slots * stride() + kAlign - sizeof(Header);
  }
};

class SlotMemory {
 public:
  // `access`: what the peer may do with it (enum ibv_access_flags). Throws Error(kSystem), also
  // when this process may not lock so much memory.
  SlotMemory(const std::vector<std::shared_ptr<Rail>>& rails, SlotLayout layout, unsigned access);
  ~SlotMemory();
  SlotMemory(const SlotMemory&) = delete;
  SlotMemory& operator=(const SlotMemory&) = delete;

  const SlotLayout& layout() const { return layout_; }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(data_); }
  std::byte* data(std::uint64_t message) const {
    return data_ + layout_.offset(message) + sizeof(Header);
  }
  Header& header(std::uint64_t message) const {
    return *reinterpret_cast<Header*>(data_ + layout_.offset(message));
  }
  // The keys of it, for that rail.
  std::uint32_t lkey(std::size_t rail) const { return regions_[rail]->lkey; }
  std::uint32_t rkey(std::size_t rail) const { return regions_[rail]->rkey; }

 private:
  void release();

  SlotLayout layout_;
  std::vector<std::shared_ptr<Rail>> rails_;
  std::byte* data_;
  std::vector<abi::Mr*> regions_;  // of each rail
};

}  // namespace railgauge::ib
