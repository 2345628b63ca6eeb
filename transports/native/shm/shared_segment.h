// SPDX-License-Identifier: Apache-2.0
// Shared segments: the ranks of a host exchange data through them, all to all. Every rank owns one,
// in shared memory, and maps the others'. It posts messages there, numbered from 0; any peer reads
// them.
//
//   | front | head 0 | head 1 | ... | data 0 | data 1 | ... |        message m is in place m %
//   places
// ^ how many messages of every segment the owner no longer needs: permits overwriting them
// ^ number, subject, and a short message's data: one cache line transfers
// everything
// All ranks post the same number of messages in the same order, so that one counter is enough for
// all segments. Besides messages, ranks access each other's memory in place: registered memory,
// and, where the kernel allows it, any memory (cross_memory.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transports/native/doorbell.h"
#include "transports/native/shm/registered_memory.h"
#include "transports/native/shm/segment.h"
#include "transports/native/waiting.h"

namespace railgauge::shm {

inline constexpr std::uint64_t kPlaces = 8;
inline constexpr int kMostRanks = 512;     // of a host; collectives/cost/host_cost.py has the same
inline constexpr std::size_t kShort = 40;  // bytes beside number and subject in a cache line

// The operation that a message belongs to, as encoded by the caller: shared segments only compare
// it.
struct Subject {
  std::uint64_t what;
  std::uint64_t count : 48;
  std::uint64_t history : 16;
  bool operator==(const Subject&) const = default;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);  // else other processes miss it
struct Front {
  alignas(64) std::atomic<std::uint64_t> done;
  std::uint64_t token;                                // drawn by the owner
  std::uint64_t address;                              // of this in the owner's process
  alignas(64) std::atomic<std::uint32_t> lacks_room;  // the owner waits for others to be done
};

struct Head {
  alignas(64) std::atomic<std::uint64_t> number;  // 1 + that of the message there
  Subject subject;                                // its operation; all must agree
  std::byte data[kShort];
};

class SharedSegment {
 public:
  struct Peer {
    int rank;             // in the communicator
    int world_rank;       // in the job: for messages, and for who waits for whom
    std::string segment;  // descriptor() of its shared segment; empty for the own one
    std::shared_ptr<Doorbell> doorbell;  // null for the own one
  };

  // This rank's segment, before the others' are known.
  explicit SharedSegment(std::size_t place_bytes);
  std::string descriptor() const { return own_->descriptor(); }
  // Maps the others' shared segments: all ranks of the host in one order, the own one among them.
  void open(const std::vector<Peer>& peers);

  int size() const { return static_cast<int>(peers_.size()); }
  int position() const { return position_; }
  int rank_at(int position) const { return peers_[position].rank; }
  int world_rank_at(int position) const { return peers_[position].world_rank; }
  int position_of(int rank) const;  // -1: not on this host
  std::size_t place_bytes() const { return place_bytes_; }

  // The next message's data, 64-byte aligned unless it is short: to be filled, then post()ed. Waits
  // until no peer needs the previous content. `first` is the number of the operation's first
  // message, for reports on the wait.
  std::byte* compose(std::size_t bytes, std::uint64_t first, Waiting& waiting);
  // Posts the composed message to all.
  void post(std::size_t bytes, const Subject& subject);
  // Message `number` of the peer at `position`, `bytes` long, once it has arrived.
  struct Shown {
    const std::byte* data;
    const Subject& subject;
  };
  Shown read(int position, std::uint64_t number, std::size_t bytes, std::uint64_t first,
             Waiting& waiting);
  // The number of the next message to compose.
  std::uint64_t next() const { return posted_; }
  // This rank needs no message below `number` any more.
  void done(std::uint64_t number);

  RegisteredMemory& registered_memory() { return registered_memory_; }
  // Whether this rank can read all others' memory, tested on their segments.
  bool reads_peers() const;
  // All ranks can, so references outside registered memory may be read.
  void allow_cross_memory() { cross_memory_ = true; }
  bool cross_memory() const { return cross_memory_; }
  // Copies from an address of the peer at `position`, outside its registered memory. Throws
  // PeerLost.
  void fetch(int position, const Reference& from, std::byte* to, std::size_t bytes) const;

  // A buffer for fetched data, the same in every call.
  std::byte* room(std::size_t bytes) {
    if (room_.size() < bytes) room_.resize(bytes);
    return room_.data();
  }

  // Bytes that this rank has posted.
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  struct Opened {
    int rank, world_rank, pid;
    std::unique_ptr<Segment> segment;  // null for the own one
    std::byte* base;
    std::shared_ptr<Doorbell> doorbell;
    std::uint64_t done_seen;
  };

  static Head& head(std::byte* base, std::uint64_t number);
  std::byte* data(std::byte* base, std::uint64_t number, std::size_t bytes) const;
  bool all_done(std::uint64_t number);

  std::size_t place_bytes_;
  std::unique_ptr<Segment> own_;
  std::atomic<std::uint64_t>* done_;
  RegisteredMemory registered_memory_;
  bool cross_memory_ = false;
  std::vector<std::byte> room_;
  int position_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t free_below_ = kPlaces;  // messages below may be composed without a check
  std::atomic<std::uint64_t> bytes_{0};
  std::vector<Opened> peers_;
};

}  // namespace railgauge::shm
