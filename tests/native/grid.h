// SPDX-License-Identifier: Apache-2.0
// Runs the kernels of several GPUs on one thread of a CPU: which of their threads (fibers.h) goes
// on next is drawn. Time is counted in turns. A seed gives the same run again.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "tests/native/fibers.h"

namespace railgauge::gpu {

class Grid {
 public:
  static constexpr std::uint64_t kTurnNs = 1000;

  // Of so many GPUs with a stream each.
  Grid(int gpus, unsigned seed);
  ~Grid();
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  // Behind what is on a GPU's stream: `kernel` gets what the threads of a block share.
  template <class Shared, class Kernel>
  void launch(int gpu, unsigned blocks, unsigned threads, Kernel kernel) {
    put(gpu, {blocks, threads, [kernel] {
                const auto shared = std::make_shared<Shared>();
                return [kernel, shared] { kernel(*shared); };
              }});
  }
  // Until all kernels have ended. The GPU `late` is left alone as long as another one's threads do
  // anything but wait; -1: none.
  void run(int late = -1);

 private:
  using Body = std::function<void()>;
  struct Launch {
    unsigned blocks, threads;
    std::function<Body()> body;  // of a block
  };
  struct Gpu {
    std::deque<Launch> launches;  // the first one runs, if there are blocks
    std::unique_ptr<Fibers> threads;
  };

  void put(int gpu, Launch launch);
  void begin(Gpu& gpu);
  // A turn of one of its threads; whether it did anything but wait.
  bool step(Gpu& gpu);

  std::mt19937 random_;
  std::vector<Gpu> gpus_;
};

}  // namespace railgauge::gpu
