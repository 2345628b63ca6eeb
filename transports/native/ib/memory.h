// SPDX-License-Identifier: Apache-2.0
// The memory for the messages of one end of a connection, which every rail's device can access.
// Long messages are in slots, short ones in cells, of which there are many. A message follows its
// header, so that one write moves both; in a slot it is 64-byte aligned.
//
//   | ... 56 bytes unused | length, 4 bytes | tag, 4 bytes | data, slot_bytes | next slot ... |
//   cells
#pragma once

#include <cstddef>
#include <cstdint>

#include "transports/native/ib/region.h"

namespace railgauge::ib {

struct Header {
  std::uint32_t bytes, tag;
};

// The same at both ends, from the first address of the memory.
struct SlotLayout {
  static constexpr std::size_t kAlign = 64;
  static constexpr std::uint32_t kCells = 64, kCellBytes = 2048;
  static constexpr std::uint32_t kCellData = kCellBytes - sizeof(Header);
  std::uint32_t slots, slot_bytes;

  // Messages that may be under way at once.
  std::uint32_t messages() const { return slots + kCells; }
  std::size_t stride() const { return slot_bytes + kAlign; }
  std::size_t bytes() const { return slots * stride() + std::size_t{kCells} * kCellBytes; }
  // Offset of the header, which the data follows: for a long message and for a short one, each
  // counted separately.
  std::size_t slot(std::uint64_t number) const {
    return number % slots * stride() + kAlign - sizeof(Header);
  }
  std::size_t cell(std::uint64_t number) const {
    return slots * stride() + number % kCells * kCellBytes;
  }
};

class SlotMemory {
 public:
  // `access`: what the peer may do with it (enum ibv_access_flags). Throws what Region does.
  SlotMemory(const Rails& rails, SlotLayout layout, unsigned access);

  const SlotLayout& layout() const { return layout_; }
  const Region& region() const { return region_; }
  std::byte* at(std::size_t offset) const { return pages_.data + offset; }

 private:
  struct Pages {
    explicit Pages(const SlotLayout& layout);
    ~Pages();
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    std::size_t bytes;
    std::byte* data;
  };

  SlotLayout layout_;
  Pages pages_;
  Region region_;
};

}  // namespace railgauge::ib
