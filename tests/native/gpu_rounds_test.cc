// SPDX-License-Identifier: Apache-2.0
// Rounds of exchanges in pairs: between any number of ranks each pair meets once, and both have
// each other in the same round, of no more ranks than a kernel takes.
#include "collectives/native/gpu/rounds.h"

#include <set>
#include <utility>

#include "tests/native/require.h"

namespace railgauge::gpu {
namespace {

void meet(int ranks) {
  std::set<std::pair<int, int>> met;
  std::size_t least = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto mine = rounds(rank, ranks);
    if (rank == 0) least = mine.size();
    REQUIRE(mine.size() == least);
    for (std::size_t round = 0; round < mine.size(); ++round) {
      REQUIRE(mine[round].size() <= kMostRanks && mine[round].front() == rank);
      for (std::size_t i = 1; i < mine[round].size(); ++i) {
        const int peer = mine[round][i];
        REQUIRE(met.emplace(rank, peer).second);
        const auto theirs = rounds(peer, ranks)[round];
        REQUIRE(std::set<int>(theirs.begin(), theirs.end()).count(rank));
      }
    }
  }
  REQUIRE(met.size() == std::size_t(ranks) * (ranks - 1));
}

// What one rank gives in an operation another one takes in, and both as much.
void match(Collective collective, int ranks) {
  const std::size_t count = 5;
  std::vector<std::byte> array(ranks * count);
  for (int root = 0; root < ranks; ++root) {
    const Operation o{collective,    array.data(), array.data(), count,
                      Dtype::kUint8, Redop::kSum,  root};
    std::vector<Pairs> all;
    for (int rank = 0; rank < ranks; ++rank) all.push_back(in_pairs(o, rank, ranks));
    std::size_t moved = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      for (int peer = 0; peer < ranks; ++peer) {
        REQUIRE(all[rank].give_count[peer] == all[peer].land_count[rank]);
        moved += all[rank].give_count[peer];
      }
    }
    const bool of_all = collective == Collective::kAllToAll;
    const bool of_root = collective == Collective::kGather || collective == Collective::kScatter;
    REQUIRE(moved == count * (of_all ? ranks * (ranks - 1) : of_root ? ranks - 1 : ranks));
  }
}

void run() {
  for (int ranks = 1; ranks <= 70; ++ranks) meet(ranks);
  for (const Collective collective :
       {Collective::kAllToAll, Collective::kGather, Collective::kScatter, Collective::kSendRecv}) {
    for (const int ranks : {2, 9, 12, 16}) match(collective, ranks);
  }
}

}  // namespace
}  // namespace railgauge::gpu

int main() { railgauge::gpu::run(); }
