// SPDX-License-Identifier: Apache-2.0
#include "transports/native/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

#include "transports/native/error.h"
#include "transports/native/shm/segment.h"

namespace railgauge {

namespace {

void futex_wait(std::atomic<std::uint32_t>* word, std::uint32_t value,
                std::chrono::nanoseconds limit) {
  timespec ts{static_cast<time_t>(limit.count() / 1'000'000'000),
              static_cast<long>(limit.count() % 1'000'000'000)};
  syscall(SYS_futex, word, FUTEX_WAIT, value, &ts, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

std::shared_ptr<Doorbell> Doorbell::create() {
  return std::shared_ptr<Doorbell>(new Doorbell(shm::Segment::create(sizeof(Shared))));
}

std::shared_ptr<Doorbell> Doorbell::open(const std::string& descriptor) {
  auto segment = shm::Segment::open(descriptor);
  if (segment->size() < sizeof(Shared)) {
    throw Error(ErrorCode::kInvalid,
                "a doorbell's segment is too small: do the ranks run different versions?");
  }
  return std::shared_ptr<Doorbell>(new Doorbell(std::move(segment)));
}

// A fresh segment is zeros, which is what the three counters start from.
Doorbell::Doorbell(std::unique_ptr<shm::Segment> segment)
    : segment_(std::move(segment)), shared_(reinterpret_cast<Shared*>(segment_->data())) {}

Doorbell::~Doorbell() = default;

std::string Doorbell::descriptor() const { return segment_->descriptor(); }

void Doorbell::ring() {
  // Pairs with prepare_to_sleep(): either this load sees the sleeper, or its last poll sees our
  // store.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (shared_->asleep.load(std::memory_order_relaxed) == 0) return;
  shared_->rings.fetch_add(1, std::memory_order_release);
  futex_wake(&shared_->rings);
}

void Doorbell::abort() {
  shared_->aborted.store(1, std::memory_order_release);
  ring();
}

std::uint32_t Doorbell::prepare_to_sleep() {
  std::uint32_t ticket = shared_->rings.load(std::memory_order_acquire);
  shared_->asleep.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (attendant_) attendant_->arm();
  return ticket;
}

void Doorbell::sleep(std::uint32_t ticket, std::chrono::nanoseconds limit) {
  // abort() may have been called before the sleeper registered, and so not have rung.
  if (!aborted() && limit > std::chrono::nanoseconds::zero()) {
    futex_wait(&shared_->rings, ticket, limit);
  }
  stay_awake();
}

void Doorbell::stay_awake() { shared_->asleep.store(0, std::memory_order_relaxed); }

}  // namespace railgauge
