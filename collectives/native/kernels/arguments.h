// SPDX-License-Identifier: Apache-2.0
// The host's arguments to the kernels. A rank writes into its peers' staging buffers and reads only
// its own, wherever these are: in the receiver's GPU, in memory of the host that both map, or on
// both sides of a network, where proxies move their contents (collectives/native/gpu/proxy.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/native/dtype.h"

#ifdef __CUDACC__
#define RAILGAUGE_ON_BOTH __host__ __device__
#else
#define RAILGAUGE_ON_BOTH
#endif

namespace railgauge::gpu {

inline constexpr int kMostRanks = 8;                // that reach each other directly
inline constexpr int kMostBlocks = 128;             // of a kernel
inline constexpr int kSlots = 4;                    // of a connection, for one block
inline constexpr std::size_t kLineBytes = 8 << 10;  // of data, for one block of `low_latency`
inline constexpr std::size_t kFullLineBytes = 128, kFullLineData = 120;

// Two words that are moved by one load or store.
struct alignas(16) Sixteen {
  std::uint64_t first, second;
};

// One direction of a staging buffer, for one block. Counters only grow, from launch to launch, so
// that a captured launch can be replayed. The first two are the owner's own, the others are written
// by its peer.
struct Progress {
  std::uint32_t sent;           // to the peer
  std::uint32_t received;       // from the peer
  std::uint32_t there;          // what the peer has sent
  std::uint32_t free;           // what the peer has read of what was sent to it
  std::uint32_t bytes[kSlots];  // of the messages that are there, for a proxy
};

// A staging buffer as kernels address it: its words and lines, and its slots, which follow them, or
// are separate in this GPU if a NIC accesses them there.
struct StagingBuffer {
  char *words, *slots;
};

// What kernels on registered memory exchange in a staging buffer, for one block: all of it is
// written by the owner's peer. The places are lines (line.cuh), which contain the number of their
// launch.
struct Barrier {
  Sixteen source, destination;  // Place::word() of the peer's arrays
  std::uint32_t done;           // the launch whose transfers the peer has ended
};

// The layout of a communicator's staging buffers.
struct Layout {
  std::uint32_t blocks;      // with connections
  std::uint32_t slot_bytes;  // of a message
  std::uint32_t line_blocks;
  std::uint32_t full_lines;  // how many a rank may write to another in a round; 0: none

  // A staging buffer: connections of inputs, of results (a tree: up and down), their slots, and
  // lines.
  RAILGAUGE_ON_BOTH std::size_t share_at() const { return blocks * sizeof(Progress); }
  RAILGAUGE_ON_BOTH std::size_t slots_at() const { return (2 * share_at() + 4095) / 4096 * 4096; }
  RAILGAUGE_ON_BOTH std::size_t slots_bytes() const {
    return std::size_t(2) * blocks * kSlots * slot_bytes;
  }
  // Of a block's slots among them all; `kind`: 0 inputs, 1 results.
  RAILGAUGE_ON_BOTH std::size_t slots_of(int kind, std::uint32_t block) const {
    return (std::size_t(kind) * blocks + block) * kSlots * slot_bytes;
  }
  RAILGAUGE_ON_BOTH std::size_t lines_at() const { return slots_at() + slots_bytes(); }
  RAILGAUGE_ON_BOTH std::size_t full_lines_at() const {
    return lines_at() + std::size_t(line_blocks) * 2 * 2 * kLineBytes;
  }
  RAILGAUGE_ON_BOTH std::size_t barriers_at() const {
    return full_lines_at() + std::size_t(full_lines) * 2 * 2 * kFullLineBytes;
  }
  RAILGAUGE_ON_BOTH std::size_t buffer_bytes() const {
    return (barriers_at() + blocks * sizeof(Barrier) + 127) / 128 * 128;
  }
};

// State that a rank's kernels keep from one to the next.
struct KernelState {
  std::uint32_t round[kMostBlocks];       // of low_latency
  std::uint32_t line_round, line_blocks;  // of full_lines, and its blocks that have ended
  std::uint32_t barrier[kMostBlocks];     // of registered
};

// In pinned memory of the host: how an operation ended.
struct Status {
  std::uint32_t abort;      // set by the host: end all waits
  std::uint32_t failed;     // set by a kernel that waited too long: 1 + the rank that it waited for
  std::uint32_t elsewhere;  // set by one on symmetric memory: 1 + a rank with another offset in it
  std::uint32_t unequal;    // set by one that receives: 1 + a rank that sent another length
  std::uint64_t untaken;    // or a tag that it does not receive next: 1 + the rank << 32 | the tag
};

// How elements become one.
struct ReduceOp {
  Redop op;
  std::uint32_t divide_by;  // of averages, whose op is a sum; 0: none
};

// One collective, as transfers between a rank and its peers. Pointers are on the rank's own GPU,
// counts of elements; a null pointer or a count of 0 is no transfer.
struct Exchange {
  const void* give[kMostRanks];  // what each peer receives
  std::size_t give_count[kMostRanks];
  void* land[kMostRanks];  // where a peer's data is copied to, instead of being reduced
  std::size_t land_count[kMostRanks];
  const void* own;  // this rank's part of what is reduced; null: none
  void* result;     // null: only shared
  std::size_t reduce_count;
  std::uint32_t reduce_from;  // bits: the peers whose inputs are reduced
  std::uint32_t share_with;   // bits: the peers that receive the result
  void* take[kMostRanks];     // where a peer's result goes
  std::size_t take_count[kMostRanks];
  ReduceOp reduction;
};

// What every kernel gets.
struct Base {
  Layout layout;
  KernelState* memory;
  Status* status;
  std::uint64_t timeout_ns;
  std::uint32_t chunk_bytes;  // of a message, at most a slot's; of low_latency a block's part
};

// The bytes that a block of low_latency moves of so many, in whole words.
inline std::uint32_t low_latency_bytes(std::size_t bytes, unsigned blocks) {
  constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
  const std::size_t words = (bytes + kWordBytes - 1) / kWordBytes;
  return static_cast<std::uint32_t>((words + blocks - 1) / blocks * kWordBytes);
}

// Of the kernels that run an Exchange between `ranks` ranks, at most kMostRanks of a communicator;
// a null staging buffer is one's own.
struct Arguments {
  Base base;
  Exchange exchange;
  int rank, ranks;
  StagingBuffer in[kMostRanks];   // by rank: what it writes for this one
  StagingBuffer out[kMostRanks];  // what this one writes for it
  int number[kMostRanks];         // who that is among all ranks of the communicator
};

// A message of a rank, in its GPU's memory.
struct KernelMessage {
  char* data;
  std::size_t bytes;
  std::uint32_t tag;
};
// What a message's part begins with, in its first slot: the receive that takes it is found by that.
struct alignas(16) MessageHead {
  std::uint64_t bytes;
  std::uint32_t tag;
};
inline constexpr std::size_t kHeadBytes = 128;  // a line, so that the data behind stays aligned
// The messages of one direction between this rank and a peer, one after another: those from `begin`
// to `end` of a kernel's.
struct PeerQueue {
  StagingBuffer in, out;
  int number;  // the peer's among all ranks
  bool sends;
  int begin, end;
};
inline constexpr int kMostQueues = 15;    // a barrier of the block for each, and one for all
inline constexpr int kMostMessages = 64;  // as many as a mask has bits

// Of the kernel that sends and receives.
struct MessageArguments {
  Base base;
  std::uint32_t parts;  // that a message has at most, one for a block; the same on all ranks
  int queues;
  PeerQueue queue[kMostQueues];
  KernelMessage message[kMostMessages];
};
// The parts that a message has.
RAILGAUGE_ON_BOTH inline std::uint32_t message_parts(std::size_t bytes, std::uint32_t most) {
  constexpr std::size_t kPart = 8 << 10;
  const std::size_t parts = (bytes + kPart - 1) / kPart;
  return parts < 1 ? 1 : parts < most ? static_cast<std::uint32_t>(parts) : most;
}

// Registered memory of all ranks: where each rank's begins, as this GPU maps it.
struct Registration {
  char* begin[kMostRanks];
};
inline constexpr int kMostRegistrations = 256;

// Where an array of a rank begins in a registration.
struct Place {
  std::uint64_t registration, at;
  RAILGAUGE_ON_BOTH std::uint64_t word() const { return registration << 48 | at; }
  RAILGAUGE_ON_BOTH static Place of(std::uint64_t word) {
    return {word >> 48, word & ((std::uint64_t(1) << 48) - 1)};
  }
};

// Of the kernel on registered memory: a rank reads its peers' sources and writes into their
// destinations. Places there are bytes from the peer's array on.
struct RegisteredArguments {
  Base base;
  int rank, ranks;
  char* in[kMostRanks];  // the words of staging buffers, as in Arguments
  char* out[kMostRanks];
  const Registration* registrations;
  Place source, destination;           // this rank's
  bool same_source, same_destination;  // every rank's is at one place of its memory
  const void* put[kMostRanks];         // what goes to each peer as it is
  std::size_t put_at[kMostRanks], put_count[kMostRanks];
  // This rank's part of what is reduced, null: none; and where it goes, null: only shared. With
  // NVLS both at multicast addresses.
  const void* own;
  void* result;
  std::size_t reduce_count;   // of elements
  std::uint32_t reduce_from;  // bits: the peers whose sources are reduced
  std::size_t reduce_at[kMostRanks];
  std::uint32_t share_with;  // bits: the peers that receive the result
  std::size_t share_at[kMostRanks];
  ReduceOp reduction;
};

inline constexpr int kMostChildren = 3;  // of a tree

// A rank's place in one channel: the ring, and a tree. StagingBuffers are null where there is
// nobody.
struct Channel {
  int position;                                      // in the ring
  const int* order;                                  // all ranks, in ring order
  int previous, next, parent, child[kMostChildren];  // their ranks; -1: nobody
  StagingBuffer from_previous, to_previous, from_next, to_next;
  StagingBuffer from_parent, to_parent, from_child[kMostChildren], to_child[kMostChildren];
};

enum class Round : int { kAllReduce, kReduce, kReduceScatter, kAllGather, kBroadcast };

// Of the kernels that run channels: block b is part of channel b % channels.
struct ChannelArguments {
  Base base;
  const Channel* channel;
  int channels, ranks;
  Round what;
  const void* source;
  void* destination;
  std::size_t count;  // as in Operation
  int root;
  ReduceOp reduction;
};

}  // namespace railgauge::gpu
