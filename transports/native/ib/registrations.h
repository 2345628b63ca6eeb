// SPDX-License-Identifier: Apache-2.0
// The caller's memory that devices can access without a copy, by address; as NCCL keeps what
// ncclCommRegister is given. Only explicitly registered memory is in here, since memory that is
// freed and mapped again keeps its address, but not the registration.
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "transports/native/ib/region.h"

namespace railgauge::ib {

class Registrations {
 public:
  // Registers the pages of some memory with these rails, of memory that is `exported` the memory
  // itself; `access` and `exported` as Region's. Repeated registrations are only counted. Throws
  // what Region does, and Error(kInvalid) for more access than before.
  const Region& add(const Rails& rails, const std::byte* data, std::size_t bytes, unsigned access,
                    std::shared_ptr<const DmaBuf> exported = nullptr);
  // Undoes one add(). Throws Error(kInvalid) for memory that was not added.
  void remove(const std::byte* data, std::size_t bytes);
  // The region that contains all of this memory and allows such access; nullptr: none.
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
