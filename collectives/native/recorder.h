// SPDX-License-Identifier: Apache-2.0
// The flight recorder: the last operations of one rank, for reports when a run ends or hangs. It
// costs an operation a few stores and one read of a coarse clock; operations that have to wait, or
// are large, are timed exactly.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "collectives/native/subject.h"
#include "transports/native/clock.h"

namespace railgauge {

// One operation, as it is reported.
struct Recorded {
  std::uint64_t number;  // of the communicator's operations, from 1
  Subject subject;
  int algorithm, channels;
  double began_s;  // since 1970; of a short operation only to the coarse clock's 1 to 10 ms
  double took_us;  // 0: ended without a wait, so not timed; -1: not over
};

// For one thread that records; any other may take snapshots meanwhile.
class Recorder {
 public:
  static constexpr std::uint64_t kKept = 128;

  // How many operations have begun.
  std::uint64_t begun() const { return claimed_.load(std::memory_order_relaxed); }
  // An operation begins; `exactly`: it is long enough for an exact clock not to matter.
  void begin(const Subject& subject, int algorithm, int channels, bool exactly);
  // The algorithm changed after it started.
  void ran_by(int algorithm, int channels);
  // It is over; `waited_since` is when it first had to wait, zero if it had not.
  void end(Clock::time_point waited_since);

  // The last ones, the oldest first.
  std::vector<Recorded> snapshot() const;

 private:
  struct Entry {
    std::atomic<std::uint64_t> what{0}, count{0};
    std::atomic<std::int64_t> began{0};  // nanoseconds of Clock
    std::atomic<std::int64_t> ended{0};  // 0: not yet; kNotTimed
    std::atomic<std::uint32_t> algorithm{0}, channels{0};
  };
  static constexpr std::int64_t kNotTimed = 1;

  Entry& entry_of(std::uint64_t number) { return entries_[number % kKept]; }
  const Entry& entry_of(std::uint64_t number) const { return entries_[number % kKept]; }

  std::array<Entry, kKept> entries_;
  // A number is claimed before its entry changes, and published when the entry is complete.
  std::atomic<std::uint64_t> claimed_{0}, told_{0};
  bool exactly_ = false;
};

}  // namespace railgauge
