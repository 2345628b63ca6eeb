// SPDX-License-Identifier: Apache-2.0
#include "tests/native/grid.h"

#include <ucontext.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <map>

#include "collectives/native/kernels/ptx.cuh"
#include "tests/native/require.h"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#elif defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace railgauge::gpu {

namespace {

constexpr std::size_t kStack = 64 << 10;
constexpr int kBarriers = 16;                   // of a block, as CUDA has
constexpr std::uint64_t kTurnsOfSpeeds = 4096;  // before GPUs' speeds are drawn anew
constexpr unsigned kSpeeds = 7;                 // each twice as fast as the one before
constexpr std::uint64_t kQuiet = 1 << 16;       // turns in which nobody does anything but wait

std::atomic<Fiber*> running;  // null: whoever draws
std::atomic<std::uint64_t> turns;

constexpr unsigned kPasses = 4;  // of so many chances to let others go on one is taken

// What a fiber says that it does, and whoever draws reads: atomic, so that it orders nothing.
using Said = std::atomic<int>;
constexpr int kReady = -1, kEnded = -2;  // else it is at the barrier of that number

void order_before(void* place) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(place);
#endif
}
void order_after(void* place) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(place);
#endif
}

// A stack of its own, between which and the main one the CPU changes.
class Context {
 public:
  Context() {  // the main one
#if defined(__SANITIZE_THREAD__)
    fiber_ = __tsan_get_current_fiber();
#endif
  }
  explicit Context(void (*body)()) : stack_(new std::byte[kStack]) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_.get();
    context_.uc_stack.ss_size = kStack;
    context_.uc_link = nullptr;
    makecontext(&context_, body, 0);
#if defined(__SANITIZE_THREAD__)
    fiber_ = __tsan_create_fiber(0);
#elif defined(__SANITIZE_ADDRESS__)
    bottom_ = stack_.get();
    size_ = kStack;
#endif
  }
  ~Context() {
#if defined(__SANITIZE_THREAD__)
    if (stack_) __tsan_destroy_fiber(fiber_);
#endif
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // From this one, which runs, to another. For good: this one never goes on, and all that it did
  // comes before what the other one does.
  void change_to(Context& to, bool for_good = false) {
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(to.fiber_, for_good ? 0 : __tsan_switch_to_fiber_no_sync);
#elif defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_, to.bottom_, to.size_);
#endif
    swapcontext(&context_, &to.context_);
    arrive(to);
  }
  // The first that runs in a context, which `from` changed to.
  void arrive(Context& from) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake_, &from.bottom_, &from.size_);
#endif
  }

 private:
  ucontext_t context_{};
  std::unique_ptr<std::byte[]> stack_;
  void* fiber_ = nullptr;  // as the sanitizers know it
  void* fake_ = nullptr;
  const void* bottom_ = nullptr;
  std::size_t size_ = 0;
};

Context main_context;

}  // namespace

class Fiber : public Thread {
 public:
  Fiber(Block& of, unsigned seed) : of_block(of), random_(seed), context_(&start) {}

  void meet(int barrier, int threads) override;
  bool any_of_warp(bool one) override;
  void pass() override {
    if (random_() % kPasses == 0) say(kReady);
  }
  std::uint64_t now_ns() override { return turns.load(std::memory_order_relaxed) * Grid::kTurnNs; }

  // Goes on until it says something.
  int go_on() {
    running = this;
    main_context.change_to(context_);
    running = nullptr;
    return said_.load(std::memory_order_relaxed);
  }

  Block& of_block;
  std::atomic<int> awaited{0};  // threads at the barrier that it is at

 private:
  static void start();
  void say(int what) {
    said_.store(what, std::memory_order_relaxed);
    context_.change_to(main_context, what == kEnded);
  }

  std::minstd_rand random_;
  unsigned votes_ = 0;
  Said said_{kReady};
  Context context_;
};

// The threads of a block, and where they meet.
class Block {
 public:
  Block(Grid::Body body, unsigned warps) : body(std::move(body)), votes(warps) {}

  // All that has been done before a thread's last word is known to whoever goes on.
  struct Vote {
    std::atomic<int> ayes{0}, seen{0};
  };

  const Grid::Body body;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::map<int, std::vector<Fiber*>> met;  // by barrier; those of warps come after CUDA's
  std::array<char, kBarriers + 1024 / kWarp> order{};  // a place for each
  char began = 0;                                      // the same for its first turns
  std::vector<std::array<Vote, 2>> votes;              // of each warp, in turns
};

Thread& Thread::self() { return *running.load(std::memory_order_relaxed); }

void Fiber::meet(int barrier, int threads) {
  char* const place = &of_block.order.at(barrier);
  awaited.store(threads, std::memory_order_relaxed);
  order_before(place);
  say(barrier);
  order_after(place);
}

bool Fiber::any_of_warp(bool one) {
  const int warp = index / kWarp;
  Block::Vote& vote = of_block.votes[warp][votes_++ % 2];
  vote.ayes += one;
  meet(kBarriers + warp, kWarp);
  const bool any = vote.ayes > 0;
  if (++vote.seen == kWarp) vote.ayes = 0, vote.seen = 0;
  return any;
}

void Fiber::start() {
  Fiber& self = *static_cast<Fiber*>(&Thread::self());
  self.context_.arrive(main_context);
  order_after(&self.of_block.began);
  self.of_block.body();
  self.say(kEnded);
}

Grid::Grid(int gpus, unsigned seed) : random_(seed), gpus_(gpus) {}
Grid::~Grid() = default;

void Grid::put(int gpu, Launch launch) { gpus_[gpu].launches.push_back(std::move(launch)); }

void Grid::begin(Gpu& gpu) {
  const Launch& launch = gpu.launches.front();
  for (unsigned number = 0; number < launch.blocks; ++number) {
    Block& block = *gpu.blocks.emplace_back(
        std::make_unique<Block>(launch.body(), (launch.threads + kWarp - 1) / kWarp));
    for (unsigned index = 0; index < launch.threads; ++index) {
      Fiber& fiber = *block.fibers.emplace_back(std::make_unique<Fiber>(block, random_()));
      fiber.index = index, fiber.threads = launch.threads;
      fiber.block = number, fiber.blocks = launch.blocks;
      gpu.ready.push_back(&fiber);
    }
    order_before(&block.began);
  }
  gpu.left = gpu.ready.size();
}

void Grid::end(Gpu& gpu) {
  gpu.blocks.clear();
  gpu.launches.pop_front();
}

bool Grid::step(Gpu& gpu) {
  if (gpu.blocks.empty()) begin(gpu);
  REQUIRE(!gpu.ready.empty());  // else its threads are at barriers where nobody else comes
  Fiber*& drawn = gpu.ready[random_() % gpu.ready.size()];
  Fiber* const fiber = drawn;
  ++turns;
  const int said = fiber->go_on();
  if (said == kReady) return false;
  drawn = gpu.ready.back();
  gpu.ready.pop_back();
  if (said == kEnded) {
    if (--gpu.left == 0) end(gpu);
    return true;
  }
  std::vector<Fiber*>& met = fiber->of_block.met[said];
  met.push_back(fiber);
  if (static_cast<int>(met.size()) == fiber->awaited) {
    gpu.ready.insert(gpu.ready.end(), met.begin(), met.end());
    met.clear();
  }
  return said < kBarriers;  // warps meet whenever they look for a line
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
