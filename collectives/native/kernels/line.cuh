// SPDX-License-Identifier: Apache-2.0
// Lines of 16 bytes: 8 of data, half of them in each word, and the round number in the other half
// of both. A reader that sees the round in a word has the data beside it, since words of 8 bytes
// are written whole everywhere; 16 bytes need not be.
#pragma once

#include "signal.cuh"

namespace railgauge::gpu {

using Word = unsigned long long;

__device__ inline void write_line(Sixteen* line, Word data, std::uint32_t round) {
  const std::uint64_t mark = std::uint64_t(round) << 32;
  store_sixteen(line, {mark | static_cast<std::uint32_t>(data), mark | data >> 32});
}

__device__ inline bool read_line(const Sixteen* line, std::uint32_t round, int from,
                                 Patience& patience, Word& data) {
  do {
    const Sixteen got = load_sixteen(line);
    if (got.first >> 32 == round && got.second >> 32 == round) {
      data = got.second << 32 | static_cast<std::uint32_t>(got.first);
      patience.came();
      return true;
    }
  } while (patience.goes_on(from));
  return false;
}

}  // namespace railgauge::gpu
