// SPDX-License-Identifier: Apache-2.0
#include "tests/native/grid.h"

#include <atomic>

#include "tests/native/require.h"

namespace railgauge::gpu {

namespace {

constexpr std::uint64_t kTurnsOfSpeeds = 4096;  // before GPUs' speeds are drawn anew
constexpr unsigned kSpeeds = 7;                 // each twice as fast as the one before
constexpr std::uint64_t kQuiet = 1 << 16;       // turns in which nobody does anything but wait
constexpr unsigned kPasses = 4;

std::atomic<std::uint64_t> turns;

std::uint64_t now_ns() { return turns.load(std::memory_order_relaxed) * Grid::kTurnNs; }

}  // namespace

Grid::Grid(int gpus, unsigned seed) : random_(seed), gpus_(gpus) {}
Grid::~Grid() = default;

void Grid::put(int gpu, Launch launch) { gpus_[gpu].launches.push_back(std::move(launch)); }

void Grid::begin(Gpu& gpu) {
  const Launch& launch = gpu.launches.front();
  gpu.threads = std::make_unique<Fibers>(Fibers::Pace{kPasses, now_ns});
  for (unsigned block = 0; block < launch.blocks; ++block)
    gpu.threads->add(launch.body(), block, launch.blocks, launch.threads, random_());
}

bool Grid::step(Gpu& gpu) {
  if (!gpu.threads) begin(gpu);
  REQUIRE(gpu.threads->ready());  // else they are at barriers where nobody else comes
  ++turns;
  const bool moved = gpu.threads->go_on(random_() % gpu.threads->ready());
  if (gpu.threads->are_over()) {
    gpu.threads.reset();
    gpu.launches.pop_front();
  }
  return moved;
}

void Grid::run(int late) {
  std::vector<Gpu*> drawn;  // each as often as its speed says
  for (std::uint64_t turn = 0, moved = 0;; ++turn) {
    if (turn % kTurnsOfSpeeds == 0 || turn - moved > kQuiet) drawn.clear();
    if (turn - moved > kQuiet) late = -1, moved = turn;
    if (drawn.empty()) {
      bool all_ended = true;
      for (Gpu& gpu : gpus_) {
        all_ended &= gpu.launches.empty();
        if (gpu.launches.empty() || &gpu - gpus_.data() == late) continue;
        drawn.insert(drawn.end(), std::size_t(1) << random_() % kSpeeds, &gpu);
      }
      if (all_ended) return;
      if (drawn.empty()) late = -1;
      if (drawn.empty()) continue;
    }
    Gpu& gpu = *drawn[random_() % drawn.size()];
    if (step(gpu)) moved = turn;
    if (gpu.launches.empty()) drawn.clear();
  }
}

}  // namespace railgauge::gpu
