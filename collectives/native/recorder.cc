// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/recorder.h"

#include <time.h>

#include <algorithm>

namespace railgauge {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

std::int64_t nanoseconds(Clock::time_point at) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
}

// The same clock as of its last tick, for a quarter of the price.
std::int64_t coarse_now() {
#if defined(CLOCK_MONOTONIC_COARSE)
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
#else
  return nanoseconds(Clock::now());
#endif
}

std::int64_t exact_now() { return nanoseconds(Clock::now()); }

}  // namespace

void Recorder::begin(const Subject& subject, int algorithm, int channels, bool exactly) {
  const std::uint64_t number = begun() + 1;
  claimed_.store(number, kRelaxed);
  std::atomic_thread_fence(std::memory_order_release);
  Entry& entry = entry_of(number);
  entry.what.store(subject.what, kRelaxed);
  entry.count.store(subject.count, kRelaxed);
  entry.began.store(exactly ? exact_now() : coarse_now(), kRelaxed);
  entry.ended.store(0, kRelaxed);
  entry.algorithm.store(static_cast<std::uint32_t>(algorithm), kRelaxed);
  entry.channels.store(static_cast<std::uint32_t>(channels), kRelaxed);
  told_.store(number, std::memory_order_release);
  exactly_ = exactly;
}

void Recorder::ran_by(int algorithm, int channels) {
  Entry& entry = entry_of(begun());
  entry.algorithm.store(static_cast<std::uint32_t>(algorithm), kRelaxed);
  entry.channels.store(static_cast<std::uint32_t>(channels), kRelaxed);
}

void Recorder::end(Clock::time_point waited_since) {
  Entry& entry = entry_of(begun());
  const bool waited = waited_since != Clock::time_point{};
  if (waited && !exactly_) entry.began.store(nanoseconds(waited_since), kRelaxed);
  // Last, since a reader that sees the end must see the start.
  entry.ended.store(waited || exactly_ ? exact_now() : kNotTimed, std::memory_order_release);
}

std::vector<Recorded> Recorder::snapshot() const {
  const double now_s =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::int64_t now = exact_now();
  const std::uint64_t last = told_.load(std::memory_order_acquire);
  std::vector<Recorded> all;
  for (std::uint64_t number = last > kKept ? last - kKept + 1 : 1; number <= last; ++number) {
    const Entry& entry = entry_of(number);
    const std::int64_t ended = entry.ended.load(std::memory_order_acquire);
    const std::int64_t began = entry.began.load(kRelaxed);
    all.push_back({number,
                   {entry.what.load(kRelaxed), entry.count.load(kRelaxed), 0},
                   static_cast<int>(entry.algorithm.load(kRelaxed)),
                   static_cast<int>(entry.channels.load(kRelaxed)),
                   now_s - (now - began) / 1e9,
                   ended == 0           ? -1
                   : ended == kNotTimed ? 0
                                        : std::max<std::int64_t>(1, ended - began) / 1e3});
  }
  // Entries that were overwritten meanwhile belong to later operations.
  std::atomic_thread_fence(std::memory_order_acquire);
  const std::uint64_t claimed = begun();
  std::erase_if(all, [&](const Recorded& one) { return one.number + kKept <= claimed; });
  return all;
}

}  // namespace railgauge
