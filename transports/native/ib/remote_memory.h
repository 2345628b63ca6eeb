// SPDX-License-Identifier: Apache-2.0
// Registered memory of the receiver's, into which the sender puts messages at offsets of its
// choice, without a slot between. What the sender needs to know about it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "transports/native/error.h"

namespace railgauge::ib {

struct RemoteMemory {
  std::uint64_t address = 0, bytes = 0;
  std::vector<std::uint32_t> rkeys;  // for each queue pair of the connection

  std::string facts() const {
    std::string facts(reinterpret_cast<const char*>(&address), sizeof address);
    facts.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
    return facts.append(reinterpret_cast<const char*>(rkeys.data()),
                        rkeys.size() * sizeof rkeys[0]);
  }
  // Throws Error(kMismatch) unless the facts belong to a connection with that many queue pairs.
  static RemoteMemory from(const std::string& facts, std::size_t queue_pairs) {
    RemoteMemory remote;
    remote.rkeys.resize(queue_pairs);
    const std::size_t head = sizeof remote.address + sizeof remote.bytes;
    if (facts.size() != head + queue_pairs * sizeof remote.rkeys[0]) {
      throw Error(ErrorCode::kMismatch,
                  "a peer's description of its registered memory belongs to another connection");
    }
    std::memcpy(&remote.address, facts.data(), sizeof remote.address);
    std::memcpy(&remote.bytes, facts.data() + sizeof remote.address, sizeof remote.bytes);
    std::memcpy(remote.rkeys.data(), facts.data() + head, facts.size() - head);
    return remote;
  }
};

// In Header::bytes: the message is in the registered memory, at the offset that its cell holds.
inline constexpr std::uint32_t kPlaced = 1u << 31;

}  // namespace railgauge::ib
