// SPDX-License-Identifier: Apache-2.0
// The one recording of this process: opened by whichever plugin NCCL loads first, never closed, so
// that a late event finds its memory.
#pragma once

#include <time.h>

#include "collectives/native/nccl_plugin/layout.h"

namespace railgauge::nccl_plugin {

enum Level : std::uint32_t { kLevelCall = 1, kLevelOp, kLevelChannel, kLevelNet };

inline std::uint64_t now_ns(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

// What an event says besides its times.
struct NewRecord {
  Kind kind;
  std::uint8_t flags = 0, function = kNone, dtype = kNone, algorithm = kNone, protocol = kNone,
               channels = 0, communicator = kNone;
  std::uint64_t parent = 0, a = 0, b = 0, c = 0;
};

class Recording {
 public:
  // The process's, opened at the first call: in RAILGAUGE_NCCL_RECORD, a folder. Null: none is
  // wanted, or it failed, which `why` says.
  static Recording* of_process(const char** why);

  // Room for the records; false where the disk has none.
  bool make_ring(const char** why);

  // Lock-free, without allocation. The record's number, 0 if it was refused.
  std::uint64_t begin(const NewRecord& entry);
  void end(std::uint64_t number);
  // The record of that number, null if it was overwritten.
  Record* find(std::uint64_t number);

  std::uint8_t name(Table table, const char* text);
  std::uint8_t open_communicator();
  void mark_clocks();

  FileHeader& header() { return *header_; }
  Tables& tables() { return *tables_; }
  RecordedCommunicator& communicator(std::uint8_t slot) { return tables_->communicators[slot]; }

 private:
  bool open(const char* folder, const char** why);
  void describe_process();

  int fd_ = -1;
  FileHeader* header_ = nullptr;
  Tables* tables_ = nullptr;
  std::atomic<Record*> ring_{nullptr};
  std::uint64_t capacity_ = 0;
  std::atomic<bool> named_[kTables][kNames] = {};
  std::atomic_flag naming_;
};

}  // namespace railgauge::nccl_plugin
