// SPDX-License-Identifier: Apache-2.0
// Collectives over several hosts in three stages: inside each host over its shared segment, across
// the hosts between ranks of equal position, and inside each host again. Each position moves its
// own part of the data between hosts, so that all of a host's connections, and NICs, work at the
// same time. As many positions as the host with the fewest ranks has take part across.
#pragma once

#include <cstddef>

#include "collectives/native/direct.h"
#include "collectives/native/recursive.h"
#include "collectives/native/reduction.h"

namespace railgauge {

// Which ranks are on which host: the ranks of each by position, this rank's host among them.
struct Hosts {
  std::vector<std::vector<int>> ranks;
  int own = 0;

  // How many positions take part across.
  int rails() const;
  // Whether every host has the same number of ranks.
  bool equal() const;
  // The host that a rank is on.
  int of(int rank) const;
};

// The state shared by all of them. `across` belongs to this rank's position, one for each host in
// the order of `hosts`; a rank whose position takes no part does not run it.
struct Stages {
  const Hosts& hosts;
  Direct& direct;
  const Recursive& across;
  const Reduction& reduction;
};

void hierarchical_all_reduce(const Stages& stages, const std::byte* source, std::byte* destination,
                             std::size_t count);
void hierarchical_broadcast(const Stages& stages, const std::byte* source, std::byte* destination,
                            std::size_t count, int root);
void hierarchical_reduce(const Stages& stages, const std::byte* source, std::byte* destination,
                         std::size_t count, int root);
// These two need hosts of equally many ranks.
void hierarchical_all_gather(const Stages& stages, const std::byte* source, std::byte* destination,
                             std::size_t count);
void hierarchical_reduce_scatter(const Stages& stages, const std::byte* source,
                                 std::byte* destination, std::size_t count);

}  // namespace railgauge
