// SPDX-License-Identifier: Apache-2.0
// Recursive doubling and halving: the exchanges of a rank of a hypercube, step by step
// (R. Thakur, R. Rabenseifner, W. Gropp: Optimization of Collective Communication Operations in
// MPICH, 2005). Everything is done within one buffer that holds this rank's data at first.
#pragma once

#include <vector>

#include "collectives/native/cube.h"

namespace railgauge {

// One step, with one neighbour: the data sent, and the data received meanwhile.
struct ScheduleStep {
  enum Kind {
    kCopy,        // what comes replaces what is there
    kReduce,      // what comes is reduced with what is there
    kReduceBoth,  // the same, where both ends give what they take, and have to come to the same
  };
  int peer;  // its position
  std::vector<Part> give, take;
  Kind kind = kCopy;
  bool ends = false;  // what is taken is then reduced over all ranks
};
using Schedule = std::vector<ScheduleStep>;

// All-reduce by doubling: with every step, what a rank has is of twice as many ranks. log2(n)
// steps, all of the data in each.
Schedule doubling_all_reduce(CubePlace place, Part all);

// All-gather by doubling: with every step a rank has twice as many of the blocks, of which there is
// one for each position, its own at first. log2(n) steps, each block once.
Schedule doubling_all_gather(CubePlace place, const std::vector<Part>& blocks);

// Reduce-scatter by halving: with every step a rank has half as many blocks to reduce, its own at
// last. log2(n) steps, (n-1)/n of the data.
Schedule halving_reduce_scatter(CubePlace place, const std::vector<Part>& blocks);

// All-reduce by halving and then doubling: a reduce-scatter and an all-gather of a block for each
// rank of the core. Twice the steps of doubling, and 2 (n-1)/n of the data.
Schedule halving_all_reduce(CubePlace place, Part all, std::size_t element);

// Broadcast: with every step twice as many ranks have the data. Reduce: with every step half as
// many hold what is still to be reduced. log2(n) steps, all of the data in each.
Schedule doubling_broadcast(CubePlace place, Part all, int root);
Schedule halving_reduce(CubePlace place, Part all, int root);

}  // namespace railgauge
