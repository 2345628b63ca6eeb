// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/recursive_collectives.h"

#include <algorithm>
#include <cstring>

namespace railgauge {

namespace {

constexpr std::size_t kScratchBytes = 4 << 20;

void copy(std::byte* out, const std::byte* in, std::size_t bytes) {
  if (out != in && bytes) std::memmove(out, in, bytes);
}

int position_of(const std::vector<int>& order, int rank) {
  return static_cast<int>(std::find(order.begin(), order.end(), rank) - order.begin());
}

}  // namespace

void recursive_all_reduce(const Recursive& ranks, AllReduceBy by, const std::byte* source,
                          std::byte* destination, std::size_t count) {
  copy(destination, source, count * ranks.element());
  const Part all{0, count};
  ranks.run(by == AllReduceBy::kDoubling ? doubling_all_reduce(ranks.place(), all)
                                         : halving_all_reduce(ranks.place(), all, ranks.element()),
            destination);
}

void recursive_all_gather(const Recursive& ranks, const std::byte* source, std::byte* destination,
                          std::size_t count) {
  std::vector<Part> blocks;
  for (int rank : ranks.order()) blocks.push_back({rank * count, count});
  copy(destination + blocks[ranks.place().position].offset * ranks.element(), source,
       count * ranks.element());
  ranks.run(doubling_all_gather(ranks.place(), blocks), destination);
}

void recursive_reduce_scatter(const Recursive& ranks, const std::byte* source,
                              std::byte* destination, std::size_t count) {
  const std::size_t element = ranks.element(), size = ranks.order().size();
  const std::size_t most = std::max<std::size_t>(1, kScratchBytes / element / size);
  std::byte* scratch = ranks.scratch(size * std::min(count, most) * element);
  for (std::size_t at = 0; at < count; at += most) {
    const std::size_t some = std::min(most, count - at);
    std::vector<Part> blocks;
    for (int rank : ranks.order()) {
      blocks.push_back({blocks.size() * some, some});
      std::memcpy(scratch + blocks.back().offset * element, source + (rank * count + at) * element,
                  some * element);
    }
    ranks.run(halving_reduce_scatter(ranks.place(), blocks), scratch);
    const Part& own = blocks[ranks.place().position];
    std::memcpy(destination + at * element, scratch + own.offset * element, some * element);
  }
}

void recursive_broadcast(const Recursive& ranks, const std::byte* source, std::byte* destination,
                         std::size_t count, int root) {
  const int from = position_of(ranks.order(), root);
  if (from == ranks.place().position) copy(destination, source, count * ranks.element());
  ranks.run(doubling_broadcast(ranks.place(), {0, count}, from), destination);
}

void recursive_reduce(const Recursive& ranks, const std::byte* source, std::byte* destination,
                      std::size_t count, int root) {
  const std::size_t element = ranks.element(), most = kScratchBytes / element;
  const int to = position_of(ranks.order(), root);
  std::byte* scratch = ranks.scratch(std::min(count, most) * element);
  for (std::size_t at = 0; at < count; at += most) {
    const std::size_t some = std::min(most, count - at);
    std::memcpy(scratch, source + at * element, some * element);
    ranks.run(halving_reduce(ranks.place(), {0, some}, to), scratch);
    if (to == ranks.place().position) {
      std::memcpy(destination + at * element, scratch, some * element);
    }
  }
}

}  // namespace railgauge
