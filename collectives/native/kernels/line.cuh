// SPDX-License-Identifier: Apache-2.0
// Lines of 16 bytes: 8 of data, half of them in each word, and the round number in the other half
// of both. A reader that sees the round in a word has the data beside it, since words of 8 bytes
// are written whole everywhere; 16 bytes need not be.
#pragma once

#include "peers.cuh"
#include "signal.cuh"

namespace railgauge::gpu {

using Word = unsigned long long;

__device__ inline void write_line(Sixteen* line, Word data, std::uint32_t round) {
  const std::uint64_t mark = std::uint64_t(round) << 32;
  store_sixteen(line, {mark | static_cast<std::uint32_t>(data), mark | data >> 32});
}

// The lines of some peers, all of whose loads are under way at once: those with a bit in `missing`,
// from the ranks `from`. False if the wait was ended.
template <int kLines>
__device__ bool read_lines(const Sixteen* const (&line)[kLines], unsigned missing,
                           std::uint32_t round, const int (&from)[kLines], Patience& patience,
                           Word (&data)[kLines]) {
  while (missing) {
    Sixteen got[kLines];
#pragma unroll
    for (int i = 0; i < kLines; ++i)
      if (missing >> i & 1) got[i] = load_sixteen(line[i]);
    int late = 0;
#pragma unroll
    for (int i = 0; i < kLines; ++i) {
      if (!(missing >> i & 1)) continue;
      if (got[i].first >> 32 == round && got[i].second >> 32 == round) {
        data[i] = got[i].second << 32 | static_cast<std::uint32_t>(got[i].first);
        missing &= ~(1u << i);
        patience.came();
      } else {
        late = from[i];
      }
    }
    if (missing && !patience.goes_on(late)) return false;
  }
  return true;
}

__device__ inline bool read_line(const Sixteen* line, std::uint32_t round, int from,
                                 Patience& patience, Word& data) {
  Word words[1];
  if (!read_lines({line}, 1, round, {from}, patience, words)) return false;
  data = words[0];
  return true;
}

}  // namespace railgauge::gpu
