// SPDX-License-Identifier: Apache-2.0
#include "transports/native/ib/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

namespace railgauge::ib {

namespace {

std::string lock_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return " (this process may lock " + std::to_string(limit.rlim_cur >> 10) +
         " KiB: `ulimit -l unlimited`, or LimitMEMLOCK=infinity where a service starts it)";
}

}  // namespace

SlotMemory::SlotMemory(const std::vector<std::shared_ptr<Rail>>& rails, SlotLayout layout,
                       unsigned access)
    : layout_(layout), rails_(rails) {
  if (layout.slots == 0 || layout.slot_bytes == 0 || layout.slot_bytes % SlotLayout::kAlign != 0) {
    throw Error(ErrorCode::kInvalid, "a FIFO takes slots of a multiple of 64 bytes");
  }
  void* mapped =
      mmap(nullptr, layout.bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw system_error("memory of a connection's slots");
  data_ = static_cast<std::byte*>(mapped);
  for (const auto& rail : rails_) {
    const unsigned order = rail->settings().relaxed_ordering ? abi::kRelaxedOrdering : 0;
    abi::Mr* region = Verbs::get().reg_mr_iova2(rail->pd(), data_, layout.bytes(), address(),
                                                abi::kLocalWrite | access | order);
    if (region == nullptr) {
      const int error = errno;
      release();
      throw verbs_error(rail->name() + ": registering " + std::to_string(layout.bytes()) +
                            " bytes of memory" + (error == ENOMEM ? lock_limit() : ""),
                        error);
    }
    regions_.push_back(region);
  }
}

SlotMemory::~SlotMemory() { release(); }

void SlotMemory::release() {
  for (abi::Mr* region : regions_) Verbs::get().dereg_mr(region);
  munmap(data_, layout_.bytes());
}

}  // namespace railgauge::ib
