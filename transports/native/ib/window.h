// SPDX-License-Identifier: Apache-2.0
// A window: memory of the receiver's, registered, into which the sender's messages go at places of
// the sender's choice, without a slot between. What the sender has to know of it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "transports/native/error.h"

namespace railgauge::ib {

struct Window {
  std::uint64_t address = 0, bytes = 0;
  std::vector<std::uint32_t> rkeys;  // for each queue pair of the connection

  std::string facts() const {
    std::string facts(reinterpret_cast<const char*>(&address), sizeof address);
    facts.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
    return facts.append(reinterpret_cast<const char*>(rkeys.data()),
                        rkeys.size() * sizeof rkeys[0]);
  }
  // Throws Error(kMismatch) for what is not of a connection with so many queue pairs.
  static Window from(const std::string& facts, std::size_t queue_pairs) {
    Window window;
    window.rkeys.resize(queue_pairs);
    const std::size_t head = sizeof window.address + sizeof window.bytes;
    if (facts.size() != head + queue_pairs * sizeof window.rkeys[0]) {
      throw Error(ErrorCode::kMismatch, "a peer's description of its registered memory belongs to another connection");
    }
    std::memcpy(&window.address, facts.data(), sizeof window.address);
    std::memcpy(&window.bytes, facts.data() + sizeof window.address, sizeof window.bytes);
    std::memcpy(window.rkeys.data(), facts.data() + head, facts.size() - head);
    return window;
  }
};

// In Header::bytes: the message lies in the window, at the place that its cell holds.
inline constexpr std::uint32_t kPlaced = 1u << 31;

}  // namespace railgauge::ib
