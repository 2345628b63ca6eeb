// SPDX-License-Identifier: Apache-2.0
// Memory that devices can access: registered with each rail, which has its own keys for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "transports/native/dma_buf.h"
#include "transports/native/ib/rail.h"

namespace railgauge::ib {

class Region {
 public:
  // `access`: what devices may do with it beside reading (enum ibv_access_flags); `exported`: the
  // memory belongs to another device. The memory must outlive it. Throws Error(kSystem), also if
  // this process cannot lock that much memory.
  Region(const Rails& rails, const std::byte* data, std::size_t bytes, unsigned access,
         std::shared_ptr<const DmaBuf> exported = nullptr);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  // Registers it with another rail, unless already done.
  void add(const std::shared_ptr<Rail>& rail);

  const std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  bool allows(unsigned access) const { return (access_ & access) == access; }
  bool holds(const std::byte* data, std::size_t bytes) const {
    return data >= data_ && bytes <= bytes_ &&
           static_cast<std::size_t>(data - data_) <= bytes_ - bytes;
  }
  // Its keys on one of its rails: for this end's own queue pairs, and for the peer's.
  std::uint32_t lkey(const Rail& rail) const { return on(rail).lkey; }
  std::uint32_t rkey(const Rail& rail) const { return on(rail).rkey; }

 private:
  abi::Mr* registered(const Rail& rail) const;
  const abi::Mr& on(const Rail& rail) const;
  void release();

  const std::byte* data_;
  std::size_t bytes_;
  unsigned access_;
  std::shared_ptr<const DmaBuf> exported_;
  std::vector<std::pair<std::shared_ptr<Rail>, abi::Mr*>> registered_;
};

}  // namespace railgauge::ib
