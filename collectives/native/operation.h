// SPDX-License-Identifier: Apache-2.0
// One collective as a rank was asked to run it. Installed as <railgauge/operation.h>. The numbers
// are part of the Python binding (collectives/operation.py lists the same names in this order).
#pragma once

#include <cstddef>
#include <cstdint>

#include "dtype.h"  // beside this file where it is installed

namespace railgauge {

enum class Collective : int {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kGather,
  kScatter,
  kSendRecv,   // to the next rank, from the previous one
  kAllToAllV,  // parts of any length
  kBarrier,
};
inline constexpr int kCollectives = 9;  // of HostEngine::run()
inline constexpr int kOperations = 11;

// How many elements a rank's buffers hold, and where in the other one each lies in place. A rank
// that sends or receives nothing has 0.
struct Extent {
  std::size_t source, destination, source_at = 0, destination_at = 0;
};

struct Operation {
  Collective collective;
  const std::byte* source;
  std::byte* destination;
  std::size_t count;  // NCCL's: of all_reduce, broadcast, reduce: all elements; of the others: what
                      // one rank has for one other
  Dtype dtype;
  Redop op;
  int root;

  std::size_t element_bytes() const { return dtype_bytes(dtype); }
  bool reduces() const {
    return collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
           collective == Collective::kReduce;
  }
  bool has_root() const {
    return collective == Collective::kBroadcast || collective == Collective::kReduce ||
           collective == Collective::kGather || collective == Collective::kScatter;
  }
  Extent extent(int rank, int ranks) const;
  // Whether the smaller one of source and destination is at its in-place position in the larger
  // one.
  bool is_in_place(int rank, int ranks) const;
  // Whether source and destination may be the same.
  bool runs_in_place() const {
    return collective != Collective::kAllToAll && collective != Collective::kSendRecv;
  }
  // The size used for tuning, as nccl-tests counts it: all that a rank sends or receives.
  std::size_t bytes(int ranks) const;
};

// Throws Error(kInvalid) if this rank cannot run it: the root is no rank, the operator does not
// reduce the type, or a buffer is missing or not aligned to its elements.
void check_buffers(const Operation& operation, int rank, int ranks);
// Also if the buffers overlap other than in place.
void check(const Operation& operation, int rank, int ranks);

const char* collective_name(Collective collective);
const char* redop_name(Redop op);

}  // namespace railgauge
