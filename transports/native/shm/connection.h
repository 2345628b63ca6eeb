// SPDX-License-Identifier: Apache-2.0
// The SHM transport: a FIFO in memory that both ranks map. The receiver makes the segment, the
// sender opens it.
//
//   | tail | head | slots, slot_bytes | sizes[slots] | tags[slots] | slot 0 | slot 1 | ... |
//     ^ messages posted, written by the sender only (own cache line)
//            ^ messages popped, written by the receiver only (own cache line)
//
// Both counters only grow; slot = counter % slots. The sender may post while tail - head < slots.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "transports/native/doorbell.h"
#include "transports/native/shm/segment.h"
#include "transports/native/transport.h"

namespace railgauge::shm {

// With one slot, ranks of a ring that all pass a message on would wait for each other.
inline constexpr std::uint32_t kMinSlots = 2, kMaxSlots = 64;
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

struct Fifo {
  alignas(64) std::atomic<std::uint64_t> tail;
  alignas(64) std::atomic<std::uint64_t> head;
  alignas(64) std::uint32_t slots;
  std::uint32_t slot_bytes;
  std::uint32_t sizes[kMaxSlots];
  std::uint32_t tags[kMaxSlots];
  alignas(64) std::byte data[];
};

class ShmReceiver final : public Receiver {
 public:
  // `sender` is rung when a slot becomes free.
  ShmReceiver(int peer, std::shared_ptr<Doorbell> sender, std::uint32_t slots,
              std::uint32_t slot_bytes);
  std::string via() const override { return "SHM"; }
  std::string descriptor() const { return segment_->descriptor(); }
  Message front() override;
  void pop() override;

 private:
  std::shared_ptr<Doorbell> sender_;
  std::unique_ptr<Segment> segment_;
  Fifo* fifo_;
  std::uint64_t head_ = 0;
  std::uint64_t tail_seen_ = 0;
};

class ShmSender final : public Sender {
 public:
  // `receiver` is rung when a message was posted; `segment` is the peer's receiver's.
  ShmSender(int peer, std::shared_ptr<Doorbell> receiver, std::unique_ptr<Segment> segment);
  std::string via() const override { return "SHM"; }
  std::byte* acquire() override;
  void post(std::size_t bytes, std::uint32_t tag) override;

 private:
  std::shared_ptr<Doorbell> receiver_;
  std::unique_ptr<Segment> segment_;
  Fifo* fifo_;
  std::uint64_t tail_ = 0;
  std::uint64_t head_seen_ = 0;
};

}  // namespace railgauge::shm
