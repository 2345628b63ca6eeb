// SPDX-License-Identifier: Apache-2.0
// The file of a process: a header with tables, then a ring of records of one size. Native byte
// order, mapped by the writer, read by topo/jobs/recordings/layout.py while it is written and after
// any end. docs/reference/nccl-recording.md describes it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace railgauge::nccl_plugin {

using AtomicWord = std::atomic<std::uint64_t>;
static_assert(AtomicWord::is_always_lock_free && sizeof(AtomicWord) == 8);

inline constexpr std::uint64_t kMagic = 0x4c43434e4c494152;  // RAILNCCL, the lowest byte first
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kCommunicators = 255, kNames = 32, kVariables = 512;
// No communicator, no name: of events whose table is full.
inline constexpr std::uint8_t kNone = 255;

enum class Kind : std::uint8_t {
  kCall = 1,        // a program's call: a = count, b = root or 0, c = stream
  kCollective = 2,  // enqueued: a = count, b = NCCL's number of it, c = number, root << 40
  kMessage = 3,     // enqueued send or receive: a = count, b = peer
  kLaunch = 4,      // of a kernel: c = stream
  kChannel =
      5,  // in the kernel: a = channel, b and c = the GPU's clock at start and end, 0 unknown
  kOperation =
      6,  // of the proxy: a = peer, channel << 32, b = steps, chunk bytes << 32, c = bytes so far
  kStep = 7,  // of those: a = step, b = bytes, c = ns until the network had it, until it was
              // through << 32
  kNetwork =
      8,  // of the NIC: a = id of the event, device or socket << 32, b = bytes, c = queue pair
  kCopyEngine = 9,  // a collective by copy engines: as kCollective
};
enum Flag : std::uint8_t { kSends = 1, kCaptured = 2, kForeignParent = 4 };

// Names that NCCL gives, each table by its own numbers.
enum class Table : std::uint8_t { kFunction, kDtype, kAlgorithm, kProtocol };
inline constexpr std::size_t kTables = 4, kNameBytes = 32;

struct Record {
  AtomicWord
      sequence;  // its number in the file, from 1; kBusy while it is written; 0 never written
  AtomicWord start_ns;  // CLOCK_MONOTONIC
  AtomicWord end;  // turn of the ring << 48 | ns since the start, plus 1; 0 in the lower 48 bits:
                   // not ended
  AtomicWord parent;  // number of the record that it belongs to, 0 unknown
  AtomicWord
      what;  // bytes: kind, flags, function, dtype, algorithm, protocol, channels, communicator
  AtomicWord a, b, c;
};
inline constexpr std::uint64_t kBusy = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kDuration = (std::uint64_t{1} << 48) - 1;
static_assert(sizeof(Record) == 64);

struct RecordedCommunicator {
  std::atomic<std::uint32_t> state;             // 0 free, 1 in use, 2 finalized
  std::atomic<std::int32_t> rank, size, nodes;  // -1 unknown
  AtomicWord hash;
  char name[64];
  char bus_id[16];
  AtomicWord begun_ns, finalized_ns;
  AtomicWord operations;  // collectives, each number once
};
static_assert(sizeof(RecordedCommunicator) == 128);

struct Variable {
  std::atomic<std::uint32_t> state;  // 0 free, 1 being written, 2 written
  std::atomic<std::uint32_t> reads;
  std::uint32_t origin;  // census.h
  std::uint32_t length;  // of the whole value
  char name[64];
  char value[176];
};
static_assert(sizeof(Variable) == 256);

struct FileHeader {
  AtomicWord magic;
  std::uint32_t version, ring_offset, record_bytes, level, every, pid;
  AtomicWord capacity, written, refused;
  std::atomic<std::uint32_t> nccl, profiler, environment, variables_lost;
  AtomicWord monotonic_ns, realtime_ns, last_monotonic_ns, last_realtime_ns;
  char boot_id[40], host[64], suffix[16], program[32];
  std::int32_t job_rank, job_size;
};
inline constexpr std::size_t kHeaderBytes = 4096;
static_assert(sizeof(FileHeader) == 264);
static_assert(offsetof(FileHeader, capacity) == 32 && offsetof(FileHeader, monotonic_ns) == 72 &&
              offsetof(FileHeader, boot_id) == 104 && offsetof(FileHeader, job_rank) == 256);

struct Tables {
  RecordedCommunicator communicators[kCommunicators + 1];
  char names[kTables][kNames][kNameBytes];
  Variable variables[kVariables];
};
inline constexpr std::size_t kRingOffset = kHeaderBytes + sizeof(Tables);
static_assert(kRingOffset == 172032 && kRingOffset % 4096 == 0);

}  // namespace railgauge::nccl_plugin
