// SPDX-License-Identifier: Apache-2.0
// One collective on every rank: what a rank gives, and what it has to get.
#pragma once

#include "tests/native/world.h"

namespace railgauge {

using Values = std::vector<std::int32_t>;
inline constexpr std::int32_t kUntouched = 0x5a5a5a5a;

inline std::int32_t given(int rank, std::size_t index) {
  return static_cast<std::int32_t>(rank * 1000003 + index * 7 + 1);
}

inline std::int32_t sum(int ranks, std::size_t index) {
  std::int32_t total = 0;
  for (int rank = 0; rank < ranks; ++rank) total += given(rank, index);
  return total;
}

struct Case {
  Collective collective;
  int ranks, rank, root;
  std::size_t count;

  bool is_root() const { return rank == root; }
  std::size_t input_count() const {
    switch (collective) {
      case Collective::kReduceScatter:
      case Collective::kAllToAll:
        return ranks * count;
      case Collective::kScatter:
        return is_root() ? ranks * count : 0;
      default:
        return count;
    }
  }
  std::size_t output_count() const {
    switch (collective) {
      case Collective::kAllGather:
      case Collective::kAllToAll:
        return ranks * count;
      case Collective::kGather:
        return is_root() ? ranks * count : 0;
      case Collective::kReduce:
        return is_root() ? count : 0;
      default:
        return count;
    }
  }
  std::int32_t expected(std::size_t i) const {
    switch (collective) {
      case Collective::kAllReduce:
      case Collective::kReduce:
        return sum(ranks, i);
      case Collective::kReduceScatter:
        return sum(ranks, rank * count + i);
      case Collective::kBroadcast:
        return given(root, i);
      case Collective::kAllGather:
      case Collective::kGather:
        return given(static_cast<int>(i / count), i % count);
      case Collective::kAllToAll:
        return given(static_cast<int>(i / count), rank * count + i % count);
      case Collective::kScatter:
        return given(root, rank * count + i);
      default:
        return given((rank + ranks - 1) % ranks, i);
    }
  }
  bool may_be_in_place() const {
    return collective != Collective::kAllToAll && collective != Collective::kSendRecv;
  }
  // Where the input lies within the output, or the output within the input, in place.
  std::size_t input_at() const {
    bool gathers =
        collective == Collective::kAllGather || (collective == Collective::kGather && is_root());
    return gathers ? rank * count : 0;
  }
  std::size_t output_at() const {
    bool scatters = collective == Collective::kReduceScatter ||
                    (collective == Collective::kScatter && is_root());
    return scatters ? rank * count : 0;
  }

  void run(HostEngine& comm, bool in_place) const {
    const std::size_t behind = 16;
    Values input(input_count());
    Values output(in_place ? std::max(input_at() + input_count(), output_at() + output_count())
                           : output_count() + behind);
    run(comm, in_place, in_place ? output.data() + input_at() : input.data(), output.data(),
        output.size());
  }

  // On the caller's memory; in place the input lies within the output, else apart.
  void run(HostEngine& comm, bool in_place, std::int32_t* input, std::int32_t* output,
           std::size_t output_size) const {
    std::fill_n(output, output_size, kUntouched);
    for (std::size_t i = 0; i < input_count(); ++i) input[i] = given(rank, i);
    std::int32_t* to = in_place ? output + output_at() : output;
    comm.run({collective, reinterpret_cast<const std::byte*>(input),
              reinterpret_cast<std::byte*>(to), count, Dtype::kInt32, Redop::kSum, root});
    for (std::size_t i = 0; i < output_count(); ++i) REQUIRE(to[i] == expected(i));
    if (in_place) return;
    for (std::size_t i = output_count(); i < output_size; ++i) REQUIRE(output[i] == kUntouched);
    for (std::size_t i = 0; i < input_count(); ++i) REQUIRE(input[i] == given(rank, i));
  }
};

}  // namespace railgauge
