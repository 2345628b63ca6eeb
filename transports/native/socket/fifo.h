// SPDX-License-Identifier: Apache-2.0
// The messages of one connection between the rank and the sockets that move them: slots in private
// memory, each with the facts of its message. A message may also be elsewhere, in memory of the
// caller. Every socket handles every message, and is done with it when its piece has been moved;
// counters of messages only grow.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "transports/native/error.h"
#include "transports/native/transport.h"

namespace railgauge::socket {

struct Entry {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::uint32_t tag = 0;
  std::atomic<std::uint32_t> sockets_left{0};  // that have not moved their piece
};

class Fifo {
 public:
  Fifo(std::uint32_t slots, std::uint32_t slot_bytes, std::uint32_t sockets)
      : slot_bytes_(slot_bytes), sockets_(sockets), entries_(slots) {
    if (slots == 0 || slot_bytes == 0 || slot_bytes % kAlign != 0) {
      throw Error(ErrorCode::kInvalid, "a FIFO's slots must be a multiple of 64 bytes");
    }
    data_ = static_cast<std::byte*>(
        ::operator new(std::size_t{slots} * slot_bytes, std::align_val_t{kAlign}));
  }
  ~Fifo() { ::operator delete(data_, std::align_val_t{kAlign}); }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

  std::size_t slot_bytes() const { return slot_bytes_; }
  // For sockets: a message that is `on`, and that this socket is done with it.
  const Entry& entry(std::uint64_t message) const { return entries_[message % entries_.size()]; }
  void done(std::uint64_t message) {
    entries_[message % entries_.size()].sockets_left.fetch_sub(1, std::memory_order_acq_rel);
  }
  // The number of messages up to which the sockets may move.
  std::uint64_t on() const { return on_.load(std::memory_order_acquire); }

 protected:
  static bool complete(const Entry& entry) {
    return entry.sockets_left.load(std::memory_order_acquire) == 0;
  }
  std::byte* slot(std::uint64_t message) const {
    return data_ + message % entries_.size() * slot_bytes_;
  }
  std::size_t slots() const { return entries_.size(); }
  // The sockets may move message on().
  void put_on(std::byte* data, std::size_t bytes, std::uint32_t tag) {
    const std::uint64_t number = on_.load(std::memory_order_relaxed);
    Entry& entry = entries_[number % entries_.size()];
    entry.data = data;
    entry.bytes = bytes;
    entry.tag = tag;
    entry.sockets_left.store(sockets_, std::memory_order_relaxed);
    on_.store(number + 1, std::memory_order_release);
  }

 private:
  static constexpr std::size_t kAlign = 64;
  std::size_t slot_bytes_;
  std::uint32_t sockets_;
  std::vector<Entry> entries_;
  std::byte* data_;
  alignas(64) std::atomic<std::uint64_t> on_{0};
};

// The rank fills it and the sockets empty it.
class OutgoingFifo final : public Fifo {
 public:
  using Fifo::Fifo;
  // The next slot, or nullptr while all are in use.
  std::byte* vacant() const { return complete(entry(on())) ? slot(on()) : nullptr; }
  void push(const std::byte* data, std::size_t bytes, std::uint32_t tag) {
    put_on(const_cast<std::byte*>(data), bytes, tag);
  }
  bool drained() const {
    for (std::uint64_t back = 0; back < slots(); ++back) {
      if (!complete(entry(back))) return false;
    }
    return true;
  }
};

// The first socket opens a message when it has read its frame, all sockets fill it, and the rank
// takes it.
class IncomingFifo final : public Fifo {
 public:
  using Fifo::Fifo;
  bool has_room() const { return on() - popped_.load(std::memory_order_acquire) < slots(); }
  void open(std::size_t bytes, std::uint32_t tag) {
    const bool preferred = place_ != nullptr && place_bytes_ == bytes;
    put_on(preferred ? place_ : slot(on()), bytes, tag);
  }

  // The rank: the oldest message if all of it is there, else {nullptr, 0}.
  Message oldest() const {
    const std::uint64_t number = popped_.load(std::memory_order_relaxed);
    if (on() == number || !complete(entry(number))) return {nullptr, 0};
    return {entry(number).data, entry(number).bytes, entry(number).tag};
  }
  bool all_popped() const { return on() == popped_.load(std::memory_order_relaxed); }
  void pop() {
    if (place_ != nullptr) place_ = nullptr;  // never where a helper reads it
    popped_.store(popped_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  // Only where rank and sockets share a thread.
  void prefer(std::byte* place, std::size_t bytes) {
    place_ = place;
    place_bytes_ = bytes;
  }

 private:
  alignas(64) std::atomic<std::uint64_t> popped_{0};
  std::byte* place_ = nullptr;
  std::size_t place_bytes_ = 0;
};

}  // namespace railgauge::socket
