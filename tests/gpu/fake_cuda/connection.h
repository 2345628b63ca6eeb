// SPDX-License-Identifier: Apache-2.0
// Messages through the staging buffers of two ranks, as kernels/connection.cuh exchanges them: one
// block's, which moves all there is.
#pragma once

#include <chrono>
#include <cstring>
#include <thread>

#include "collectives/native/kernels/arguments.h"

namespace railgauge::gpu {

class Connection {
 public:
  enum Kind { kGive, kShare };

  // Null staging buffers: nobody is there, and nothing is ever sent.
  Connection(const Base& base, Kind kind, const StagingBuffer& in, const StagingBuffer& out)
      : slot_bytes_(base.layout.slot_bytes),
        own_(at(in.words, kind == kShare ? base.layout.share_at() : 0)),
        theirs_(at(out.words, kind == kShare ? base.layout.share_at() : 0)),
        slots_(base.layout.slots_of(kind, 0)),
        in_(in.slots),
        out_(out.slots) {}

  bool has_room() const { return reached(own_->free, own_->sent + 1 - kSlots); }
  bool has_message() const { return reached(own_->there, own_->received + 1); }
  char* outgoing() const { return out_ + slots_ + own_->sent % kSlots * std::size_t(slot_bytes_); }
  const char* incoming() const {
    return in_ + slots_ + own_->received % kSlots * std::size_t(slot_bytes_);
  }
  void send(std::size_t bytes) {
    theirs_->bytes[own_->sent % kSlots] = static_cast<std::uint32_t>(bytes);
    tell(theirs_->there, ++own_->sent);
  }
  void take() { tell(theirs_->free, ++own_->received); }

 private:
  static Progress* at(char* buffer, std::size_t offset) {
    return reinterpret_cast<Progress*>(buffer + offset);
  }
  static bool reached(const std::uint32_t& counter, std::uint32_t value) {
    return static_cast<std::int32_t>(__atomic_load_n(&counter, __ATOMIC_ACQUIRE) - value) >= 0;
  }
  static void tell(std::uint32_t& counter, std::uint32_t value) {
    __atomic_store_n(&counter, value, __ATOMIC_RELEASE);
  }

  std::uint32_t slot_bytes_;
  Progress *own_, *theirs_;
  std::size_t slots_;
  char *in_, *out_;
};

// Ends waits as kernels/signal.cuh does: the host said so, or nothing came for too long.
class Patience {
 public:
  explicit Patience(const Base& base) : base_(base) {}

  // To be called in every turn of a kernel, with whether something was done in it, and the rank
  // that is waited for.
  bool goes_on(bool moved, int rank) {
    if (moved) {
      idle_ = 0;
      return true;
    }
    if (!idle_++) began_ = Clock::now();
    const volatile Status* status = base_.status;
    if (status->abort || status->failed) return false;
    if (Clock::now() - began_ >= std::chrono::nanoseconds(base_.timeout_ns)) {
      base_.status->failed = 1 + rank;
      return false;
    }
    if (idle_ < kSpins) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kSpins = 200;

  const Base& base_;
  Clock::time_point began_;
  int idle_ = 0;
};

}  // namespace railgauge::gpu
