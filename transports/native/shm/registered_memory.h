// SPDX-License-Identifier: Apache-2.0
// Registered memory: memory of each rank that all ranks of the host map, for the caller's arrays.
// The others read and write it in place. Registrations are made by all ranks together, so that a
// number names one of every rank's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transports/native/shm/segment.h"

namespace railgauge::shm {

// The location of a rank's memory in a form that its peers can use.
struct Reference {
  static constexpr std::int64_t kNotRegistered = -1;
  std::int64_t registration;  // of that number; kNotRegistered: anywhere in the process
  std::uint64_t at;           // offset in the registration; or the address
};

class RegisteredMemory {
 public:
  RegisteredMemory() = default;
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;

  // Makes this rank's part of the next registration; returns its descriptor, for the peers. Throws
  // Error(kSystem).
  std::string make(std::size_t size);
  // Maps the peers' parts of what make() started, by position; "" for the own. It is in use as long
  // as the returned pointer is held. Throws Error.
  std::shared_ptr<Segment> open(const std::vector<std::string>& descriptors);
  // All ranks have opened their parts: it gets its number, and needs no file descriptor any more.
  void settle();
  // A rank could not make or open its part: discards the registration.
  void drop() { release({settled_}); }

  // The registrations that nobody here uses any more. Those unused on all ranks may be released on
  // all.
  std::vector<std::int64_t> unused() const;
  void release(const std::vector<std::int64_t>& numbers);
  // Releases all of them; pointers still held here stay valid.
  void close() { registrations_.clear(); }
  bool empty() const { return registrations_.empty(); }
  // Bytes of the own parts, and how many of them are in huge pages.
  std::size_t bytes() const;
  std::size_t bytes_in_huge_pages() const;

  // The reference by which peers find memory of this rank.
  Reference refer(const std::byte* data, std::size_t bytes) const;
  // The local address of memory that the peer at `position` referred to. Throws Error(kInvalid)
  // outside all registrations.
  std::byte* find(const Reference& reference, int position, std::size_t bytes) const;

 private:
  struct Registration {
    std::int64_t number;
    std::shared_ptr<Segment> own;
    std::vector<std::unique_ptr<Segment>> peers;  // by position; null for the own one
  };

  std::int64_t settled_ = 0;  // registrations so far; the next one's number
  std::vector<Registration> registrations_;
};

}  // namespace railgauge::shm
