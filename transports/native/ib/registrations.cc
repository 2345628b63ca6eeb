// SPDX-License-Identifier: Apache-2.0
#include "transports/native/ib/registrations.h"

#include <unistd.h>

namespace railgauge::ib {

const Region& Registrations::add(const Rails& rails, const std::byte* data, std::size_t bytes,
                                 unsigned access, std::shared_ptr<const DmaBuf> exported) {
  // A DMA-BUF's offset is that of the memory itself, which need not begin with a page.
  const Range range = exported ? Range{data, bytes} : pages_of(data, bytes);
  auto known = known_.find(range);
  if (known == known_.end()) {
    auto region =
        std::make_unique<Region>(rails, range.begin, range.bytes, access, std::move(exported));
    known = known_.emplace(range, Counted{std::move(region), 0}).first;
  }
  if (!known->second.region->allows(access)) {
    throw Error(ErrorCode::kInvalid, "this memory is already registered, for reading only");
  }
  ++known->second.times;
  return *known->second.region;
}

void Registrations::remove(const std::byte* data, std::size_t bytes) {
  auto known = known_.find({data, bytes});
  if (known == known_.end()) known = known_.find(pages_of(data, bytes));
  if (known == known_.end()) {
    throw Error(ErrorCode::kInvalid, "this memory is not registered with RDMA devices");
  }
  if (--known->second.times == 0) known_.erase(known);
}

// Regions may overlap; few are known, and most operations use the last ones.
const Region* Registrations::find(const std::byte* data, std::size_t bytes, unsigned access) const {
  for (auto after = known_.upper_bound({data + 1, 0}); after != known_.begin();) {
    const Region& region = *(--after)->second.region;
    if (region.holds(data, bytes) && region.allows(access)) return &region;
  }
  return nullptr;
}

void Registrations::extend(const std::shared_ptr<Rail>& rail) {
  for (auto& [range, counted] : known_) counted.region->add(rail);
}

Registrations::Range Registrations::pages_of(const std::byte* data, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(data) & ~(page - 1);
  const auto end = (reinterpret_cast<std::uintptr_t>(data) + bytes + page - 1) & ~(page - 1);
  return {reinterpret_cast<const std::byte*>(begin), end - begin};
}

}  // namespace railgauge::ib
