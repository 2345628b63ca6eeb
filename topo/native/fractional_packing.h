// SPDX-License-Identifier: Apache-2.0
// The most that channels of any speeds carry together, and the weights of the rows that prove it:
// column generation, which alternates between the linear programme over the channels known and the
// channel that its prices find lightest.
#pragma once

#include <utility>
#include <vector>

#include "topo/native/lightest_channel.h"

namespace railgauge::topo {

struct FractionalPacking {
  std::vector<Lanes> known;
  std::vector<std::pair<int, double>> used;  // of the known: GB/s of each channel
  double gb_per_s = 0;
  double bound = 0;             // no channels carry more: the sum of weight x capacity
  std::vector<double> weights;  // by row; any channel weighs 1 at least
};

// Starts from the `known` channels. The bound is for all that `lightest` chooses from (not in
// pairs); `prove` false leaves it out.
FractionalPacking fractional_packing(const ChannelSpace& space, const LightestChannel& lightest,
                                     std::vector<Lanes> known, bool prove);

}  // namespace railgauge::topo
