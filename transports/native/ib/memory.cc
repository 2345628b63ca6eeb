// SPDX-License-Identifier: Apache-2.0
#include "transports/native/ib/memory.h"

#include <sys/mman.h>

namespace railgauge::ib {

SlotMemory::Pages::Pages(const SlotLayout& layout) : bytes(layout.bytes()) {
  if (layout.slots == 0 || layout.slot_bytes == 0 || layout.slot_bytes % SlotLayout::kAlign != 0) {
    throw Error(ErrorCode::kInvalid, "a FIFO's slots must be a multiple of 64 bytes");
  }
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw system_error("memory of a connection's slots");
  data = static_cast<std::byte*>(mapped);
}

SlotMemory::Pages::~Pages() { munmap(data, bytes); }

SlotMemory::SlotMemory(const Rails& rails, SlotLayout layout, unsigned access)
    : layout_(layout), pages_(layout), region_(rails, pages_.data, pages_.bytes, access) {}

}  // namespace railgauge::ib
