// SPDX-License-Identifier: Apache-2.0
// A collective as transfers between GPUs that map each other's memory: what each rank sends,
// reduces, shares and receives. Pure arithmetic; no GPU is needed for it.
#pragma once

#include "collectives/native/kernels/arguments.h"
#include "collectives/native/operation.h"

namespace railgauge::gpu {

// Of an operation between so many ranks.
ReduceOp reduction_of(const Operation& operation, int ranks);

// Everything in one step: every rank gets all inputs that it needs. For small messages.
Exchange in_one_step(const Operation& operation, int rank, int ranks);

// all_reduce, reduce and broadcast in two, so that no input goes to more than one rank: parts are
// sent to their owners, which share the results. The other collectives as in one step.
Exchange in_two_steps(const Operation& operation, int rank, int ranks);

// On registered memory: what a rank writes into its peers' destinations, and what it reads from
// their sources. Fills all fields except the peers and their barriers.
void on_registered(const Operation& operation, int rank, int ranks, RegisteredArguments& a);

// The longest transfer between two ranks, in bytes; the same on every rank.
std::size_t longest(const Operation& operation, int ranks, bool two_steps);

}  // namespace railgauge::gpu
