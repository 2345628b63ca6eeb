// SPDX-License-Identifier: Apache-2.0
// Rounds of exchanges in pairs: between any number of ranks each pair meets once, and both have
// each other in the same round, of no more ranks than a kernel takes.
#include "collectives/native/gpu/rounds.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "collectives/native/gpu/message_batches.h"
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

// Messages that are drawn, which move once both ends are at them, without any room between: all
// ranks come to an end, batch by batch, each of no more than a kernel takes.
void end_of_messages(int ranks, int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<GpuMessage>> of_rank(ranks);
  for (int i = 0; i < count; ++i) {
    const int from = random() % ranks, to = (from + 1 + random() % (ranks - 1)) % ranks;
    of_rank[from].push_back({true, to, nullptr, std::size_t(i), 0});
    of_rank[to].push_back({false, from, nullptr, std::size_t(i), 0});
  }
  std::vector<std::vector<MessageBatch>> batches;
  for (int rank = 0; rank < ranks; ++rank) {
    batches.push_back(in_batches(of_rank[rank], rank, ranks));
    for (const MessageBatch& batch : batches[rank]) {
      std::size_t messages = 0;
      for (const auto& queue : batch) messages += queue.size();
      REQUIRE(batch.size() <= kMostQueues && messages <= kMostMessages);
    }
  }
  const auto queue_of = [&](int rank, bool sends, int peer) -> std::vector<GpuMessage>* {
    if (batches[rank].empty()) return nullptr;
    for (auto& queue : batches[rank].front())
      if (!queue.empty() && queue.front().sends == sends && queue.front().peer == peer)
        return &queue;
    return nullptr;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (int from = 0; from < ranks; ++from) {
      for (int to = 0; to < ranks; ++to) {
        auto *sent = queue_of(from, true, to), *received = queue_of(to, false, from);
        if (!sent || !received) continue;
        REQUIRE(sent->front().bytes == received->front().bytes);
        sent->erase(sent->begin()), received->erase(received->begin());
        moved = true;
      }
      auto& own = batches[from];
      while (!own.empty() && std::all_of(own.front().begin(), own.front().end(),
                                         [](const auto& queue) { return queue.empty(); })) {
        own.erase(own.begin());
        moved = true;
      }
    }
  }
  for (const auto& left : batches) REQUIRE(left.empty());
}

void run() {
  for (int ranks = 2; ranks <= 20; ++ranks)
    for (unsigned seed = 0; seed < 10; ++seed) end_of_messages(ranks, 40 * ranks, seed);
  for (int ranks = 1; ranks <= 70; ++ranks) meet(ranks);
  for (const Collective collective :
       {Collective::kAllToAll, Collective::kGather, Collective::kScatter, Collective::kSendRecv}) {
    for (const int ranks : {2, 9, 12, 16}) match(collective, ranks);
  }
}

}  // namespace
}  // namespace railgauge::gpu

int main() { railgauge::gpu::run(); }
