// SPDX-License-Identifier: Apache-2.0
// What collectives between GPUs come to as transfers, carried out here one rank after the other:
// every collective in one step and in two, 1 to 8 ranks, every root, odd counts, in place and out
// of place. Arrays have room for what each rank holds and no more, so that a sanitizer sees a step
// beyond.
#include "collectives/native/gpu/exchange.h"

#include "tests/native/gpu_case.h"
#include "tests/native/require.h"

namespace railgauge::gpu {
namespace {

void move(void* to, const std::int64_t* from, std::size_t count) {
  std::copy_n(from, count, static_cast<std::int64_t*>(to));
}

// All that `Exchange` says, with messages where the GPUs have slots.
void carry_out(const std::vector<Exchange>& all) {
  const int ranks = static_cast<int>(all.size());
  std::vector<std::vector<Array>> given(ranks, std::vector<Array>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    for (int peer = 0; peer < ranks; ++peer) {
      const auto* from = static_cast<const std::int64_t*>(all[rank].give[peer]);
      given[peer][rank].assign(from, from + all[rank].give_count[peer]);
    }
  }
  std::vector<Array> results(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    const Exchange& e = all[rank];
    Array& result = results[rank];
    const auto add = [&](const std::int64_t* from) {
      const bool first = result.empty();
      result.resize(e.reduce_count);
      for (std::size_t i = 0; i < e.reduce_count; ++i)
        result[i] = first ? from[i] : result[i] + from[i];
    };
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == rank) {
        if (e.own) add(static_cast<const std::int64_t*>(e.own));
      } else if (e.reduce_from >> peer & 1) {
        REQUIRE(given[rank][peer].size() == e.reduce_count);
        add(given[rank][peer].data());
      } else {
        REQUIRE(given[rank][peer].size() == e.land_count[peer]);
        move(e.land[peer], given[rank][peer].data(), e.land_count[peer]);
      }
    }
    if (e.result) move(e.result, result.data(), e.reduce_count);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    for (int peer = 0; peer < ranks; ++peer) {
      const bool shares = peer != rank && all[peer].share_with >> rank & 1;
      REQUIRE(all[rank].take_count[peer] == (shares ? all[peer].reduce_count : 0));
      move(all[rank].take[peer], results[peer].data(), all[rank].take_count[peer]);
    }
  }
}

void try_out(const Operation& operation, int ranks, bool two_steps, bool in_place) {
  std::vector<Rank> there;
  std::vector<Exchange> exchanges;
  for (int rank = 0; rank < ranks; ++rank) there.emplace_back(operation, rank, ranks, in_place);
  for (int rank = 0; rank < ranks; ++rank) {
    exchanges.push_back(
        (two_steps ? in_two_steps : in_one_step)(there[rank].operation, rank, ranks));
    for (int peer = 0; peer < ranks; ++peer) {
      REQUIRE(exchanges[rank].give_count[peer] * sizeof(std::int64_t) <=
              longest(operation, ranks, two_steps));
    }
  }
  carry_out(exchanges);
  for (int rank = 0; rank < ranks; ++rank) REQUIRE(is_right(there[rank], rank, ranks));
}

void run() {
  for (int collective = 0; collective < kCollectives; ++collective) {
    for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
      for (std::size_t count : {1, 2, 15, 16, 17, 1000}) {
        Operation o{static_cast<Collective>(collective),
                    nullptr,
                    nullptr,
                    count,
                    Dtype::kInt64,
                    Redop::kSum,
                    0};
        for (o.root = 0; o.root < (o.has_root() ? ranks : 1); ++o.root) {
          for (const bool two_steps : {false, true}) {
            try_out(o, ranks, two_steps, false);
            if (o.runs_in_place()) try_out(o, ranks, two_steps, true);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace railgauge::gpu

int main() { railgauge::gpu::run(); }
