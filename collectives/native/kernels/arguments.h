// SPDX-License-Identifier: Apache-2.0
// What the host hands to the kernels. Ranks push into each other's memory and read their own alone.
#pragma once

#include <cstddef>
#include <cstdint>

namespace railgauge::gpu {

inline constexpr int kMostRanks = 8;     // that map each other's memory
inline constexpr int kMostBlocks = 128;  // of a kernel
inline constexpr int kSlots = 4;         // of a connection of `push`, per block
inline constexpr std::size_t kSlotBytes = 64 << 10;
inline constexpr std::size_t kLineBytes =
    8 << 10;  // of data, of a connection of `low_latency`, per block
inline constexpr int kMostLineBlocks = 128;

inline constexpr std::size_t kFullLineBytes = 128, kFullLineData = 120;
inline constexpr std::size_t kFullLines = 80 << 10;

// How far a connection of two ranks is, for one block. Counters only grow, from launch to launch,
// so that a captured launch can be replayed.
struct Progress {
  std::uint32_t sent;      // of this rank to that one; for this rank's senders alone
  std::uint32_t received;  // of this rank from that one; for its receivers alone
  std::uint32_t there;     // that one has sent to this rank; written by that one
  std::uint32_t free;      // that one has read of what this rank sent; written by that one
};

// The memory that a rank lends to its peers; `from` and `to` are the peers' numbers.
struct Region {
  Progress give[kMostRanks][kMostBlocks];   // connections of inputs
  Progress share[kMostRanks][kMostBlocks];  // connections of results
  std::uint32_t round[kMostLineBlocks];     // of low_latency; for this rank alone
  std::uint32_t line_round, line_blocks;  // of full_lines, and its blocks that have ended; likewise
};

inline constexpr std::size_t kRegionBytes = (sizeof(Region) + 4095) / 4096 * 4096;

// Where in a rank's segment what lies, for so many ranks.
inline constexpr std::size_t give_at() { return kRegionBytes; }
inline constexpr std::size_t share_at(int ranks) {
  return give_at() + std::size_t(ranks) * kMostBlocks * kSlots * kSlotBytes;
}
inline constexpr std::size_t lines_at(int ranks) {
  return share_at(ranks) + std::size_t(ranks) * kMostBlocks * kSlots * kSlotBytes;
}
inline constexpr std::size_t full_lines_at(int ranks) {
  return lines_at(ranks) + std::size_t(ranks) * kMostLineBlocks * 2 * 2 * kLineBytes;
}
// How many full lines a rank may write to another in a round: a part of so many bytes.
inline constexpr std::size_t full_lines(int ranks) { return kFullLines / ranks; }
inline constexpr std::size_t segment_bytes(int ranks) {
  return full_lines_at(ranks) + std::size_t(ranks) * 4 * full_lines(ranks) * kFullLineBytes;
}

// In pinned memory of the host: how an operation ended.
struct Status {
  std::uint32_t abort;   // set by the host: leave, whatever is awaited
  std::uint32_t failed;  // set by a kernel that waited too long: 1 + the rank that it waited for
};

// One collective, as transfers between a rank and its peers. Pointers are on the rank's own GPU,
// counts of elements; a null pointer or a count of 0 is no transfer.
struct Exchange {
  const void* give[kMostRanks];  // what each peer gets
  std::size_t give_count[kMostRanks];
  void* land[kMostRanks];  // where what a peer gives is copied to, in place of being reduced
  std::size_t land_count[kMostRanks];
  const void* own;  // this rank's part of what is reduced; null: none
  void* result;     // null: only shared
  std::size_t reduce_count;
  std::uint32_t reduce_from;  // bits: the peers whose inputs are reduced
  std::uint32_t share_with;   // bits: the peers that get the result
  void* take[kMostRanks];     // where a peer's result goes
  std::size_t take_count[kMostRanks];
  std::uint32_t divide_by;  // of averages; 0: none
};

struct Arguments {
  Exchange exchange;
  int rank, ranks;
  char* segment[kMostRanks];  // of every rank, as this one maps it
  Status* status;
  std::uint64_t timeout_ns;
  std::uint32_t chunk_bytes;  // of push, at most kSlotBytes
};

}  // namespace railgauge::gpu
