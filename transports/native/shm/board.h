// SPDX-License-Identifier: Apache-2.0
// Boards: where the ranks of a host show each other data, all to all. Every rank owns one, in
// shared memory, and maps the others'. It posts messages there, numbered from 0; any peer reads
// them.
//
//   | front | head 0 | head 1 | ... | data 0 | data 1 | ... |        message m is in place m %
//   places
//     ^ how many messages of every board the owner needs no more: the readers' leave to overwrite
//             ^ number, subject, and a short message's data: one cache line travels, and all is
//             said
//
// All ranks post equally many messages in the same order, so that one counter serves all boards.
// Beside messages, ranks reach each other's memory where it is: in windows, and, where the kernel
// lets them, anywhere (cross_memory.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transports/native/doorbell.h"
#include "transports/native/shm/segment.h"
#include "transports/native/shm/windows.h"
#include "transports/native/waiting.h"

namespace railgauge::shm {

inline constexpr std::uint64_t kPlaces = 8;
inline constexpr int kMostRanks = 512;     // of a host; collectives/cost/host_cost.py has the same
inline constexpr std::size_t kShort = 40;  // bytes beside number and subject in a cache line

// What a message belongs to, in words of those who post it: boards only compare it.
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
  Subject subject;                                // what it belongs to; all have to agree
  std::byte data[kShort];
};

class Board {
 public:
  struct Peer {
    int rank;                            // in the communicator
    int world_rank;                      // in the job: for messages, and for who waits for whom
    std::string segment;                 // descriptor() of its board; empty for the own one
    std::shared_ptr<Doorbell> doorbell;  // null for the own one
  };

  // This rank's board, before the others' are known.
  explicit Board(std::size_t place_bytes);
  std::string descriptor() const { return own_->descriptor(); }
  // Maps the others' boards: all ranks of the host in one order, the own one among them.
  void open(const std::vector<Peer>& peers);

  int size() const { return static_cast<int>(peers_.size()); }
  int position() const { return position_; }
  int rank_at(int position) const { return peers_[position].rank; }
  int world_rank_at(int position) const { return peers_[position].world_rank; }
  int position_of(int rank) const;  // -1: not on this host
  std::size_t place_bytes() const { return place_bytes_; }

  // The next message's data, 64-byte aligned unless it is short: to be filled, then post()ed. Waits
  // until no peer needs what was there.
  // `first` is the number of the operation's first message: for those who look at the waiting.
  std::byte* compose(std::size_t bytes, std::uint64_t first, Waiting& waiting);
  // Shows what was composed to all.
  void post(std::size_t bytes, const Subject& subject);
  // Message `number` of the peer at `position`, `bytes` long, once it is there.
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

  Windows& windows() { return windows_; }
  // Whether this rank can read all others' memory: tried on their boards.
  bool reads_peers() const;
  // All ranks can, so that references into no window may be read.
  void allow_cross_memory() { cross_memory_ = true; }
  bool cross_memory() const { return cross_memory_; }
  // Copies from where the peer at `position` referred to, outside its windows. Throws PeerLost.
  void fetch(int position, const Reference& from, std::byte* to, std::size_t bytes) const;

  // Memory for what is fetched, the same in every call.
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
  Windows windows_;
  bool cross_memory_ = false;
  std::vector<std::byte> room_;
  int position_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t free_below_ = kPlaces;  // messages below may be composed without asking
  std::atomic<std::uint64_t> bytes_{0};
  std::vector<Opened> peers_;
};

}  // namespace railgauge::shm
