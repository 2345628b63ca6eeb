// SPDX-License-Identifier: Apache-2.0
// Collectives in pairs between any number of ranks, in rounds of as many ranks as a kernel takes.
// Pure arithmetic; no GPU is needed for it.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/native/kernels/arguments.h"
#include "collectives/native/operation.h"

namespace railgauge::gpu {

// What a rank sends to and receives from each other one, by rank; counts of elements.
struct Pairs {
  explicit Pairs(int ranks) : give(ranks), land(ranks), give_count(ranks), land_count(ranks) {}

  std::vector<const std::byte*> give;
  std::vector<std::byte*> land;
  std::vector<std::size_t> give_count, land_count;
  const std::byte* own = nullptr;  // for itself; null: nothing, or it is already in place
  std::byte* kept = nullptr;
  std::size_t own_count = 0;
};

// Of alltoall, gather, scatter and sendrecv.
Pairs in_pairs(const Operation& operation, int rank, int ranks);
// Of parts of any length, one after another: by rank how many elements go to it and come from it.
Pairs in_parts(const std::byte* source, const std::vector<std::size_t>& to, std::byte* destination,
               const std::vector<std::size_t>& from, std::size_t element_bytes, int rank);

// By round the ranks with which a rank exchanges at once, itself first. Both ranks of a pair have
// each other in the same round: those at a limited distance before and after.
std::vector<std::vector<int>> rounds(int rank, int ranks);

// The transfers of a round, with its ranks by their position in it. The first round also copies the
// rank's own part.
Exchange in_round(const Pairs& pairs, const std::vector<int>& members, bool first);
// Whether there is any.
bool moves(const Exchange& exchange);

}  // namespace railgauge::gpu
