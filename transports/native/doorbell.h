// SPDX-License-Identifier: Apache-2.0
// A doorbell wakes one rank. Each rank has one, in shared memory, so that every peer that moved
// something (data arrived, a slot became free) or asks it to stop can wake it, with every
// transport. A rank polls for a while and then sleeps on its doorbell (futex(2)).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace railgauge {

namespace shm {
class Segment;
}

// What a rank has to drive by itself while it waits: its sockets. A doorbell has at most one.
class Attendant {
 public:
  // Moves what can be moved, without blocking; returns whether the connections should be polled.
  virtual bool attend() = 0;
  // The rank is about to sleep: from now on the doorbell must ring when there is work.
  virtual void arm() = 0;
  // The peer that has not received what was sent; -1 when all has left this rank's memory.
  virtual int unsettled() const = 0;
  // An operation failed: memory that it lent and preferred is not touched any more.
  virtual void give_up() = 0;

 protected:
  ~Attendant() = default;
};

class Doorbell {
 public:
  // A new doorbell in a shared segment of its own.
  static std::shared_ptr<Doorbell> create();
  // A peer's doorbell, from its descriptor(). Throws Error(kSystem) when the peer is gone.
  static std::shared_ptr<Doorbell> open(const std::string& descriptor);
  ~Doorbell();

  // What a peer on this host needs to open it.
  std::string descriptor() const;

  // Wakes the owner if it sleeps. The owner then sees everything that was stored before.
  void ring();

  // Makes the owner give up, permanently.
  void abort();
  bool aborted() const { return shared_->aborted.load(std::memory_order_relaxed) != 0; }

  // Owner: what it drives; null: nothing.
  void attach(Attendant* attendant) { attendant_ = attendant; }
  Attendant* attendant() const { return attendant_; }

  // Owner: announce that it is about to sleep; poll everything once more after this, then sleep()
  // or stay_awake().
  std::uint32_t prepare_to_sleep();
  // Owner: sleep until rung since prepare_to_sleep() gave `ticket`, or `limit` passed.
  void sleep(std::uint32_t ticket, std::chrono::nanoseconds limit);
  void stay_awake();

 private:
  struct Shared {
    alignas(64) std::atomic<std::uint32_t> rings;  // the futex word: counts rings of a sleeper
    std::atomic<std::uint32_t> asleep;
    alignas(64) std::atomic<std::uint32_t> aborted;
  };
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
  explicit Doorbell(std::unique_ptr<shm::Segment> segment);

  std::unique_ptr<shm::Segment> segment_;
  Shared* shared_;
  Attendant* attendant_ = nullptr;
};

}  // namespace railgauge
