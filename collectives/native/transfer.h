// SPDX-License-Identifier: Apache-2.0
// One message that a rank sends to another or expects from one, and how both ends describe it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include "collectives/native/dtype.h"
#include "transports/native/clock.h"

namespace railgauge {

// What a message announces of itself, as it is sent: the part by which ends are matched, and the
// part that has to be equal.
struct Envelope {
  std::uint32_t tag;
  std::uint32_t dtype;
  std::uint64_t count;  // elements
};

struct Transfer {
  enum class Kind { kSend, kRecv };
  static constexpr int kAnyRank = -1;

  Kind kind;
  int peer;  // the rank at the other end; kAnyRank: of a receive from whoever sends first
  std::uint32_t tag;
  Dtype dtype;
  std::byte* data;  // not written by a send
  std::size_t count;

  // Seconds since 1970.
  double began_s =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();

  // While it is under way, for MessageFlow.
  std::uint64_t number = 0;  // among this rank's sends and receives, from 1
  int source = kAnyRank;     // of a receive: whose message it took
  std::uint32_t offer = 0;   // of a long one: its number among those of the sender
  std::size_t moved = 0;     // bytes
  Clock::time_point moved_at = Clock::now();
  std::exception_ptr error;
  std::atomic<bool> done{false};  // for any thread; `source` and `error` are final then

  Transfer(Kind kind, int peer, std::uint32_t tag, Dtype dtype, std::byte* data, std::size_t count)
      : kind(kind), peer(peer), tag(tag), dtype(dtype), data(data), count(count) {}

  std::size_t bytes() const { return count * dtype_bytes(dtype); }
  Envelope envelope() const { return {tag, static_cast<std::uint32_t>(dtype), count}; }
  // "recv #3 of 100 float from any rank, tag 5"
  std::string describe() const;
};
using TransferPtr = std::shared_ptr<Transfer>;

}  // namespace railgauge
