// SPDX-License-Identifier: Apache-2.0
// What each collective reads and writes, in the words of NCCL: COUNT is the number of elements of
// a piece, and an input or an output is one piece or one for each rank. collectives.py has the
// same table.
#pragma once
#include <stdbool.h>
#include <string.h>

enum { kRoot = 0 };

struct collective {
  const char* name;
  bool input_per_rank, output_per_rank;  // a piece for each rank, not one alone
  bool input_at_root, output_at_root;    // only the root has one
  bool sums;
};

static const struct collective kCollectives[] = {
    {"all_reduce", false, false, false, false, true},
    {"all_gather", false, true, false, false, false},
    {"reduce_scatter", true, false, false, false, true},
    {"broadcast", false, false, true, false, false},
    {"reduce", false, false, false, true, true},
    {"alltoall", true, true, false, false, false},
    {"gather", false, true, false, true, false},
    {"scatter", true, false, true, false, false},
};

static const struct collective* find_collective(const char* name) {
  for (size_t i = 0; i < sizeof kCollectives / sizeof *kCollectives; ++i)
    if (!strcmp(kCollectives[i].name, name)) return &kCollectives[i];
  return NULL;
}

static size_t input_size(const struct collective* what, size_t count, int rank, int ranks) {
  if (what->input_at_root && rank != kRoot) return 0;
  return what->input_per_rank ? count * (size_t)ranks : count;
}

static size_t output_size(const struct collective* what, size_t count, int rank, int ranks) {
  if (what->output_at_root && rank != kRoot) return 0;
  return what->output_per_rank ? count * (size_t)ranks : count;
}
