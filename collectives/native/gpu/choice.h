// SPDX-License-Identifier: Apache-2.0
// The launches of an operation between GPUs, and the choice among them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/native/gpu/peer_memory.h"
#include "collectives/native/gpu/registered_memory.h"
#include "collectives/native/kernels/arguments.h"
#include "collectives/native/operation.h"

namespace railgauge::gpu {

// The numbers are part of the Python binding (collectives/gpu_way.py).
enum class Way : int { kLowLatency, kPush, kFullLines, kRing, kTree, kRegistered, kCopies, kNvls };
inline constexpr int kWays = 8;

// A kernel and its launch parameters; 0: chosen by the engine. The same on all ranks.
struct Choice {
  Way way;
  unsigned blocks = 0;
  std::uint32_t chunk_bytes = 0;

  bool over_channels() const { return way == Way::kRing || way == Way::kTree; }
};

// A choice for operations of up to that many bytes: NCCL's count times the element size.
struct ChoiceUpTo {
  std::size_t bytes;
  Choice choice;
};

// Operations that can run over channels, as their kernels name them.
std::optional<Round> round_of(Collective collective);

class Choices {
 public:
  // `via` says how each rank is reached; `registered_memory` outlives it.
  Choices(const Layout& layout, const std::vector<Via>& via,
          const GpuRegisteredMemory& registered_memory);

  // Rings and trees can run from now on.
  void allow_channels() { has_channels_ = true; }
  // Sets the choices, by growing length; above the last one the engine chooses.
  void choose(Collective collective, std::vector<ChoiceUpTo> choices);
  // Error (kInvalid): there is none.
  Choice due(const Operation& operation) const;
  // Whether a launch can run it.
  bool can(const Operation& operation, Way way) const;
  // Error (kInvalid): this rank does not reach all others, which pairs need.
  void check_pairs(Collective collective) const;
  // Whether it runs in two steps, with a choice.
  bool in_steps(const Operation& operation, const Choice& choice) const;

 private:
  bool fits_in_lines(const Operation& operation) const;

  const Layout layout_;
  const GpuRegisteredMemory& registered_memory_;
  const int ranks_;
  bool has_net_ = false, all_in_gpus_ = true, has_channels_ = false;
  int reached_ = 0;  // other ranks
  std::array<std::vector<ChoiceUpTo>, kCollectives> chosen_{};
};

}  // namespace railgauge::gpu
