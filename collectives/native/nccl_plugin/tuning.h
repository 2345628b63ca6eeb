// SPDX-License-Identifier: Apache-2.0
// A table of `railgauge tune nccl` (railgauge/nccl-tuning/1, docs/reference/json.md): where it was
// measured, and what is faster than NCCL's own choice at which sizes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace railgauge::nccl_plugin {

struct TunedChoice {
  std::int8_t algorithm = -1, protocol = -1;  // -1: NCCL's own choice
  std::uint8_t channels = 0;                  // 0: NCCL's own number
};

// What a release and a job allow.
struct ChannelLimits {
  // False with v2: NCCL 2.21 does not check the number against those that a communicator has.
  bool can_be_set;
  // NCCL_MIN_NCHANNELS, 0 if it is not set: so many every communicator has.
  std::uint64_t least;
};

class Tuning {
 public:
  // Null, or why there is no table, for a message.
  const char* load(const char* path, ChannelLimits limits);

  // Of the nearest size that was measured, by ratio, and at most the square root of two from it:
  // half the way to the next of sizes that double. By the bytes alone, so that all ranks choose the
  // same.
  TunedChoice at(std::size_t bytes) const;

  // Sizes where NCCL does not choose itself.
  int chosen() const;
  bool has_gpu(const char* name) const;

  static constexpr std::size_t kPathBytes = 4096, kGpus = 8, kNameBytes = 96, kSizes = 1024;
  char path[kPathBytes];
  char collective[32];
  int function;  // NCCL's number of it
  std::uint64_t ranks, nodes;
  char release[32];
  std::uint32_t version;  // the release as NCCL_VERSION counts
  int sizes;

 private:
  const char* read(const char* text, std::size_t bytes, ChannelLimits limits, std::uint64_t widest);

  struct TunedSize {
    std::uint64_t bytes;
    TunedChoice choice;
  };
  TunedSize rows_[kSizes];
  char gpus_[kGpus][kNameBytes];
  std::size_t gpu_count_;
  std::uint64_t widest_;  // the most channels that NCCL took by itself at any size
  char why_[64];
};

}  // namespace railgauge::nccl_plugin
