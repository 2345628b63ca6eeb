// SPDX-License-Identifier: Apache-2.0
// The speeds that NCCL tries for a channel, in GB/s, falling (speed arrays of its
// src/graph/search.cc, 2.30).
#pragma once

#include <span>

namespace railgauge::topo {

inline std::span<const float> nccl_speeds(int least_sm, bool leaves) {
  static constexpr float intra[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
  static constexpr float inter[] = {48, 30, 28, 24, 20, 18,   15,   12,    10,   9,
                                    7,  6,  5,  4,  3,  2.4f, 1.2f, 0.24f, 0.12f};
  static constexpr float intra_sm90[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
  static constexpr float inter_sm90[] = {48, 45, 42, 40, 30,   24,   22,    20,   17.5f,
                                         15, 12, 6,  3,  2.4f, 1.2f, 0.24f, 0.12f};
  static constexpr float intra_sm100[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
  static constexpr float inter_sm100[] = {96, 86,    80, 48, 45.1f, 42, 40,   30,   24,    22,
                                          20, 17.5f, 15, 12, 6,     3,  2.4f, 1.2f, 0.24f, 0.12f};
  if (least_sm >= 100)
    return leaves ? std::span<const float>(inter_sm100) : std::span<const float>(intra_sm100);
  if (least_sm >= 90)
    return leaves ? std::span<const float>(inter_sm90) : std::span<const float>(intra_sm90);
  return leaves ? std::span<const float>(inter) : std::span<const float>(intra);
}

}  // namespace railgauge::topo
