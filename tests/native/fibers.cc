// SPDX-License-Identifier: Apache-2.0
#undef _FORTIFY_SOURCE  // which takes a jump to another stack for an error

#include "tests/native/fibers.h"

#include <ucontext.h>
#include <csetjmp>

#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <random>
#include <utility>

#include "collectives/native/kernels/ptx.cuh"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#elif defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace railgauge::gpu {

namespace {

constexpr std::size_t kStack = 64 << 10;

thread_local std::atomic<Fiber*> running;  // null: whoever runs them

// What a fiber says that it does, and whoever runs it reads: atomic, so that it orders nothing.
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

}  // namespace

namespace {

// Memory of stacks that have ended, for the next ones: new pages take longer than short kernels.
using Memory = std::unique_ptr<std::byte[]>;
thread_local std::vector<Memory> spare;

Memory stack_memory() {
  if (spare.empty()) return Memory(new std::byte[kStack]);
  Memory last = std::move(spare.back());
  spare.pop_back();
  return last;
}

}  // namespace

// A stack of its own, between which and the main one the CPU changes.
class Stack {
 public:
  Stack() {  // the main one
#if defined(__SANITIZE_THREAD__)
    fiber_ = __tsan_get_current_fiber();
#endif
  }
  explicit Stack(void (*body)()) : stack_(stack_memory()), is_fresh_(true) {
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
  ~Stack() {
#if defined(__SANITIZE_THREAD__)
    if (stack_) __tsan_destroy_fiber(fiber_);
#endif
    if (stack_) spare.push_back(std::move(stack_));
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  // From this one, which runs, to another. For good: this one never goes on, and all that it did
  // comes before what the other one does.
  void change_to(Stack& to, bool for_good = false) {
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(to.fiber_, for_good ? 0 : __tsan_switch_to_fiber_no_sync);
#elif defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_, to.bottom_, to.size_);
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    swapcontext(&context_, &to.context_);
#else
    if (!_setjmp(left_)) {  // without the calls of the kernel that swapcontext makes
      if (std::exchange(to.is_fresh_, false)) setcontext(&to.context_);
      _longjmp(to.left_, 1);
    }
#endif
    arrive(to);
  }
  // The first that runs on a stack, which `from` changed to.
  void arrive(Stack& from) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake_, &from.bottom_, &from.size_);
#endif
  }

 private:
  ucontext_t context_{};
  std::jmp_buf left_;
  Memory stack_;
  bool is_fresh_ = false;
  void* fiber_ = nullptr;  // as the sanitizers know it
  void* fake_ = nullptr;
  const void* bottom_ = nullptr;
  std::size_t size_ = 0;
};

class Fiber : public Thread {
 public:
  Fiber(Fibers& all, Block& of, unsigned seed)
      : of_block(of), all_(all), random_(seed), stack_(&start) {}

  void meet(int barrier, int threads) override;
  bool any(int barrier, int threads, bool one) override;
  void pass() override {
    if (all_.pace_.passes && random_() % all_.pace_.passes == 0) say(kReady);
  }
  void write() override {
    all_.written_.store(true, std::memory_order_relaxed);
    pass();
  }
  void wait() override {
    all_.waited_.store(true, std::memory_order_relaxed);
    say(kReady);
  }
  std::uint64_t now_ns() override { return all_.pace_.now_ns(); }

  // Goes on until it says something.
  int go_on() {
    running = this;
    all_.main_->change_to(stack_);
    running = nullptr;
    return said_.load(std::memory_order_relaxed);
  }

  Block& of_block;
  std::atomic<int> awaited{0};  // threads at the barrier that it is at

 private:
  static void start();
  void say(int what) {
    said_.store(what, std::memory_order_relaxed);
    stack_.change_to(*all_.main_, what == kEnded);
  }

  Fibers& all_;
  std::minstd_rand random_;
  std::map<int, unsigned> votes_;  // by barrier, those that it took part in
  Said said_{kReady};
  Stack stack_;
};

// The threads of a block, and where they meet.
class Block {
 public:
  explicit Block(std::function<void()> body) : body(std::move(body)) {}

  // All that has been done before a thread's last word is known to whoever goes on.
  struct Vote {
    std::atomic<int> ayes{0}, seen{0};
  };

  const std::function<void()> body;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::array<std::vector<Fiber*>, kMostBarriers> met;
  std::array<char, kMostBarriers> order{};                 // a place for each
  char began = 0;                                          // the same for its first turns
  std::array<std::array<Vote, 2>, kMostBarriers> votes{};  // in turns
};

Thread& Thread::self() { return *running.load(std::memory_order_relaxed); }

void Fiber::meet(int barrier, int threads) {
  char* const place = &of_block.order.at(barrier);
  awaited.store(threads, std::memory_order_relaxed);
  order_before(place);
  say(barrier);
  order_after(place);
}

bool Fiber::any(int barrier, int threads, bool one) {
  Block::Vote& vote = of_block.votes.at(barrier)[votes_[barrier]++ % 2];
  vote.ayes += one;
  meet(barrier, threads);
  const bool any = vote.ayes > 0;
  if (++vote.seen == threads) vote.ayes = 0, vote.seen = 0;
  return any;
}

void Fiber::start() {
  Fiber& self = *static_cast<Fiber*>(&Thread::self());
  self.stack_.arrive(*self.all_.main_);
  order_after(&self.of_block.began);
  self.of_block.body();
  self.say(kEnded);
}

Fibers::Fibers(Pace pace) : pace_(pace), main_(std::make_unique<Stack>()) {}
Fibers::~Fibers() = default;

void Fibers::add(std::function<void()> body, unsigned number, unsigned blocks, unsigned threads,
                 unsigned seed) {
  Block& block = *blocks_.emplace_back(std::make_unique<Block>(std::move(body)));
  for (unsigned index = 0; index < threads; ++index) {
    Fiber& fiber =
        *block.fibers.emplace_back(std::make_unique<Fiber>(*this, block, seed + index + 1));
    fiber.index = index, fiber.threads = threads;
    fiber.block = number, fiber.blocks = blocks;
    ready_.push_back(&fiber);
  }
  left_ += threads;
  order_before(&block.began);
}

bool Fibers::go_on(std::size_t number) {
  Fiber* const fiber = ready_[number];
  const int said = fiber->go_on();
  if (said == kReady) return false;
  ready_[number] = ready_.back();
  ready_.pop_back();
  if (said == kEnded) {
    --left_;
    return true;
  }
  std::vector<Fiber*>& met = fiber->of_block.met[said];
  met.push_back(fiber);
  if (static_cast<int>(met.size()) == fiber->awaited) {
    ready_.insert(ready_.end(), met.begin(), met.end());
    met.clear();
  }
  return said < kFirstOfWarps;  // warps meet whenever they look for a line
}

}  // namespace railgauge::gpu
