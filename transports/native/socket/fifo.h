// SPDX-License-Identifier: Apache-2.0
// Slots in private memory between a rank's thread and its proxy's, one of which fills them and the
// other empties them. tail counts filled slots, head emptied ones; both only grow.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "transports/native/error.h"
#include "transports/native/transport.h"

namespace railgauge::socket {

class Fifo {
 public:
  Fifo(std::uint32_t slots, std::uint32_t slot_bytes) : slot_bytes_(slot_bytes), sizes_(slots) {
    if (slots == 0 || slot_bytes == 0 || slot_bytes % kAlign != 0) {
      throw Error(ErrorCode::kInvalid, "a FIFO takes slots of a multiple of 64 bytes");
    }
    data_ = static_cast<std::byte*>(
        ::operator new(std::size_t{slots} * slot_bytes, std::align_val_t{kAlign}));
  }
  ~Fifo() { ::operator delete(data_, std::align_val_t{kAlign}); }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

  std::size_t slot_bytes() const { return slot_bytes_; }

  // The side that fills: the next slot, or nullptr while all are full.
  std::byte* vacant() {
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) == sizes_.size()) return nullptr;
    return slot(tail);
  }
  void push(std::size_t bytes) {
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    sizes_[tail % sizes_.size()] = bytes;
    tail_.store(tail + 1, std::memory_order_release);
  }

  // The side that empties: the oldest message, or {nullptr, 0}.
  Message oldest() const {
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (tail_.load(std::memory_order_acquire) == head) return {nullptr, 0};
    return {slot(head), sizes_[head % sizes_.size()]};
  }
  void pop() { head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

 private:
  static constexpr std::size_t kAlign = 64;
  std::byte* slot(std::uint64_t number) const {
    return data_ + number % sizes_.size() * slot_bytes_;
  }

  std::size_t slot_bytes_;
  std::vector<std::size_t> sizes_;
  std::byte* data_;
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  alignas(64) std::atomic<std::uint64_t> head_{0};
};

}  // namespace railgauge::socket
