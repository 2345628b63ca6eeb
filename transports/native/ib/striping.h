// SPDX-License-Identifier: Apache-2.0
// How messages are distributed over the queue pairs of a connection. NCCL's rule (ncclIbMultiSend
// in net_ib): a message is cut over all rails and uses one queue pair of each, the next one for the
// next message; with NCCL_IB_SPLIT_DATA_ON_QPS=1 it is cut over all queue pairs. Ours: pieces are
// at least 8 KiB, and the first piece alternates between the rails.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace railgauge::ib {

class Striping {
 public:
  // Queue pair k of rail r has number k * rails + r.
  Striping(std::uint32_t rails, std::uint32_t queue_pairs, bool split)
      : group_(split ? rails * queue_pairs : rails), groups_(split ? 1 : queue_pairs) {}

  // The most pieces that a message is cut into.
  std::uint32_t group() const { return group_; }

  struct Cut {
    std::uint32_t pieces;
    std::size_t size;  // of each but the last one
  };
  Cut cut(std::size_t bytes) const {
    const std::size_t even = (bytes + group_ - 1) / group_;
    const std::size_t size = std::max(kLeast, (even + kAlign - 1) / kAlign * kAlign);
    return {std::max<std::uint32_t>(1, static_cast<std::uint32_t>((bytes + size - 1) / size)),
            size};
  }
  // The number of the queue pair that a piece goes over.
  std::uint32_t queue_pair(std::uint64_t message, std::uint32_t piece) const {
    const std::uint64_t turn = message / groups_;  // each group's messages start on each rail
    return static_cast<std::uint32_t>(message % groups_ * group_ + (turn + piece) % group_);
  }

 private:
  static constexpr std::size_t kLeast = 8 << 10, kAlign = 128;
  std::uint32_t group_, groups_;
};

}  // namespace railgauge::ib
