// SPDX-License-Identifier: Apache-2.0
// The caller's memory that devices may use without a copy, by its place; as NCCL keeps what
// ncclCommRegister is given. Only what somebody registered is in here, since memory that is
// given back and mapped anew keeps its address, but not the registration.
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "transports/native/ib/region.h"

namespace railgauge::ib {

class Registrations {
 public:
  // Registers the pages of some memory with these rails, of memory that is `exported` the memory
  // itself; `access` and `exported` as Region's. The same again is only counted. Throws what Region
  // does, and Error(kInvalid) for more access than before.
  const Region& add(const Rails& rails, const std::byte* data, std::size_t bytes, unsigned access,
                    std::shared_ptr<const DmaBuf> exported = nullptr);
  // Takes one add() back. Throws Error(kInvalid) for what nobody added.
  void remove(const std::byte* data, std::size_t bytes);
  // What holds all of some memory and allows such access; nullptr: nothing does.
  const Region* find(const std::byte* data, std::size_t bytes, unsigned access = 0) const;
  // All of it is registered with another rail, too.
  void extend(const std::shared_ptr<Rail>& rail);

 private:
  struct Range {
    const std::byte* begin;
    std::size_t bytes;
    bool operator<(const Range& other) const {
      return begin != other.begin ? begin < other.begin : bytes < other.bytes;
    }
  };
  struct Counted {
    std::unique_ptr<Region> region;
    int times;
  };
  static Range pages_of(const std::byte* data, std::size_t bytes);

  std::map<Range, Counted> known_;
};

}  // namespace railgauge::ib
