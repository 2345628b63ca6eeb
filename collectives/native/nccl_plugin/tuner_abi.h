// SPDX-License-Identifier: Apache-2.0
// What NCCL passes to its tuner plugins, in our own words, for x86-64 and aarch64. NCCL 2.21 has
// v2, 2.22 and 2.23 v3, 2.24 to 2.27 v4, 2.28 and 2.29 v5, 2.30 and later v6; each also takes the
// older ones down to v2. An error of any of these functions ends the job, so none returns one.
#pragma once

#include "collectives/native/nccl_plugin/abi.h"

namespace railgauge::nccl_plugin {

// Numbers of all releases; PAT came with 2.23, and a release says how many it has.
inline constexpr int kTree = 0, kRing = 1, kNvls = 4, kNvlsTree = 5, kPat = 6;
inline constexpr int kLl = 0, kLl128 = 1, kSimple = 2;
inline constexpr int kBroadcast = 0, kReduce = 1, kAllGather = 2, kReduceScatter = 3,
                     kAllReduce = 4;

// From v3 on `costs` is a row of floats, algorithms * protocols, in us; below 0: NCCL cannot use
// that pair here. It takes the pair of the lowest cost. 0 channels: its own number of them.
struct Tuner_v2 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Logger log, void** context);
  Result (*choose)(void* context, int function, std::size_t bytes, int has_collnet, int has_nvls,
                   int operations, int* algorithm, int* protocol, int* channels);
  Result (*finalize)(void* context);
};
struct Tuner_v3 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Logger log, void** context);
  Result (*choose)(void* context, int function, std::size_t bytes, int operations, float** costs,
                   int algorithms, int protocols, int* channels);
  Result (*finalize)(void* context);
};
using ChooseOfRegistered = Result (*)(void* context, int function, std::size_t bytes,
                                      int operations, float** costs, int algorithms, int protocols,
                                      int is_registered, int* channels);
struct Tuner_v4 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Logger log, void** context);
  ChooseOfRegistered choose;
  Result (*finalize)(void* context);
};
// The last two are NCCL's NVLink domains and the constants of its cost model, for which we have no
// use.
using InitOfDomains = Result (*)(void** context, std::uint64_t comm, std::size_t ranks,
                                 std::size_t nodes, Logger log, void* domains, void* constants);
struct Tuner_v5 {
  const char* name;
  InitOfDomains init;
  ChooseOfRegistered choose;
  Result (*finalize)(void* context);
};
struct Tuner_v6 {
  const char* name;
  InitOfDomains init;
  ChooseOfRegistered choose;
  Result (*finalize)(void* context);
  Result (*chunk_bytes)(void* context, int function, std::size_t bytes, int algorithm, int protocol,
                        int channels, std::size_t* chunk_bytes);  // null: NCCL's own
};

static_assert(sizeof(Tuner_v2) == 32 && sizeof(Tuner_v5) == 32 && sizeof(Tuner_v6) == 40);
static_assert(offsetof(Tuner_v3, choose) == 16 && offsetof(Tuner_v4, finalize) == 24 &&
              offsetof(Tuner_v6, init) == 8 && offsetof(Tuner_v6, chunk_bytes) == 32);

}  // namespace railgauge::nccl_plugin
