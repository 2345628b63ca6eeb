// SPDX-License-Identifier: Apache-2.0
// Random bits that depend on place: what a DataPattern's data is made of. They are those of an
// index alone, so that any part can be made anywhere; blocks have a salt, so that loops over a
// block are short and vectorise. All is constexpr, so that GPUs' compilers take it too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace railgauge {

inline constexpr std::size_t kPatternBlock = 1024;  // elements

// Every use of random bits in a block has its own stream; an input's streams are its rank's.
inline constexpr int kSharedStream = -1;

// What tells apart the blocks' random bits (SplitMix64's finalizer over what names the block).
constexpr std::uint32_t salt_of(std::uint64_t seed, int stream, int part, std::uint64_t block) {
  std::uint64_t z = seed * 0xD1342543DE82EF95u + block * 0x9E3779B97F4A7C15u +
                    static_cast<std::uint64_t>(stream + 2) * 0xDA942042E4DD58B5u +
                    static_cast<std::uint64_t>(part) * 0xA0761D6478BD642Fu;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<std::uint32_t>(z >> 32);
}

// 32 random bits for element i of the block.
constexpr std::uint32_t hash(std::uint32_t salt, std::uint32_t i) {
  std::uint32_t x = salt + i * 0x9E3779B1u;
  x ^= x >> 15;
  x *= 0x2C1B3C6Du;
  x ^= x >> 13;
  return x;
}

// A random 32-bit number scaled to 0 ... span - 1.
constexpr std::uint32_t scaled(std::uint32_t random, std::uint32_t span) {
  return static_cast<std::uint32_t>((std::uint64_t{random} * span) >> 32);
}

// Which ranks do something at an index when not all can: `active` of them, from a random one on.
struct Chosen {
  std::uint32_t salt;
  int ranks, active;
  bool everybody;

  constexpr Chosen(std::uint64_t seed, std::uint64_t block, int ranks, int active)
      : salt(salt_of(seed, kSharedStream, 0, block)),
        ranks(ranks),
        active(active),
        everybody(active >= ranks) {}

  constexpr bool has(int rank, std::uint32_t i) const {
    int place = rank - static_cast<int>(scaled(hash(salt, i), static_cast<std::uint32_t>(ranks)));
    place += place < 0 ? ranks : 0;
    return place < active;
  }
};

}  // namespace railgauge
