// SPDX-License-Identifier: Apache-2.0
// Random bits that depend on place: what a Pattern's data is made of, block by block, so that loops
// over a block vectorise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace railgauge {

inline constexpr std::size_t kPatternBlock = 1024;  // elements

// Every use of random bits in a block has its own stream; an input's streams are its rank's.
inline constexpr int kSharedStream = -1;

// 32 random bits per element of block `block` (SplitMix64's finalizer over what names the block,
// then a short one per element).
inline void hash_block(std::uint64_t seed, int stream, int part, std::uint64_t block,
                       std::uint32_t* out) {
  std::uint64_t z = seed * 0xD1342543DE82EF95u + block * 0x9E3779B97F4A7C15u +
                    static_cast<std::uint64_t>(stream + 2) * 0xDA942042E4DD58B5u +
                    static_cast<std::uint64_t>(part) * 0xA0761D6478BD642Fu;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  auto salt = static_cast<std::uint32_t>(z >> 32);
  for (std::size_t i = 0; i < kPatternBlock; ++i) {
    std::uint32_t x = salt + static_cast<std::uint32_t>(i) * 0x9E3779B1u;
    x ^= x >> 15;
    x *= 0x2C1B3C6Du;
    x ^= x >> 13;
    out[i] = x;
  }
}

// A random 32-bit number scaled to 0 ... span - 1.
inline std::uint32_t scaled(std::uint32_t random, std::uint32_t span) {
  return static_cast<std::uint32_t>((std::uint64_t{random} * span) >> 32);
}

// Which ranks do something at an index when not all can: `active` of them, from a random one on.
// out[i] is all ones for a rank that does, else 0.
inline void choose_block(std::uint64_t seed, int ranks, int rank, int active, std::uint64_t block,
                         std::uint32_t* out) {
  hash_block(seed, kSharedStream, 0, block, out);
  for (std::size_t i = 0; i < kPatternBlock; ++i) {
    int place = rank - static_cast<int>(scaled(out[i], static_cast<std::uint32_t>(ranks)));
    place += place < 0 ? ranks : 0;
    out[i] = place < active ? ~0u : 0;
  }
}

}  // namespace railgauge
