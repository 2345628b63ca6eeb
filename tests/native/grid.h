// SPDX-License-Identifier: Apache-2.0
// Runs the kernels of several GPUs on one thread of a CPU (kernels/simt.h): each of their threads
// is a fiber, and which goes on next is drawn. Time is counted in turns. A seed gives the same run
// again; -fsanitize=thread takes the fibers for threads, and sees what no barrier and no word
// orders, whatever was drawn.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <vector>

namespace railgauge::gpu {

class Block;
class Fiber;

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
  friend class Block;
  using Body = std::function<void()>;
  struct Launch {
    unsigned blocks, threads;
    std::function<Body()> body;  // of a block
  };
  struct Gpu {
    std::deque<Launch> launches;  // the first one runs, if there are blocks
    std::vector<std::unique_ptr<Block>> blocks;
    std::vector<Fiber*> ready;
    std::size_t left = 0;  // fibers that have not ended
  };

  void put(int gpu, Launch launch);
  void begin(Gpu& gpu);
  // A turn of one of its threads; whether it did anything but wait.
  bool step(Gpu& gpu);
  void end(Gpu& gpu);

  std::mt19937 random_;
  std::vector<Gpu> gpus_;
};

}  // namespace railgauge::gpu
