// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/memory_floor.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>

#include "collectives/native/reduce.h"
#include "transports/native/clock.h"

namespace railgauge {

namespace {

constexpr int kBatches = 3;

// What is read is added up, and the sum goes nowhere that the compiler knows of.
void read_only(const std::byte* data, std::size_t bytes) {
  std::uint64_t sum = 0, word;
  for (std::size_t at = 0; at + sizeof word <= bytes; at += sizeof word) {
    std::memcpy(&word, data + at, sizeof word);
    sum += word;
  }
  volatile std::uint64_t nowhere = sum;
  static_cast<void>(nowhere);
}

}  // namespace

double memory_floor(const std::byte* source, std::size_t source_bytes, std::byte* destination,
                    std::size_t destination_bytes, int times) {
  const std::size_t both = std::min(source_bytes, destination_bytes);
  auto pass = [&](bool stream) {
    if (stream) {
      stream_copy(destination, source, both);
      stream_fence();
    } else {
      std::memcpy(destination, source, both);
    }
    read_only(source + both, source_bytes - both);
    std::memset(destination + both, 0, destination_bytes - both);
  };
  const int each = std::max(1, times / kBatches);
  double best = std::numeric_limits<double>::infinity();
  for (int batch = 0; batch < 2 * kBatches; ++batch) {
    const auto before = Clock::now();
    for (int i = 0; i < each; ++i) pass(batch % 2 == 1);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - before).count() / each);
  }
  return best;
}

}  // namespace railgauge
