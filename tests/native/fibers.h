// SPDX-License-Identifier: Apache-2.0
// The threads of kernels (kernels/simt.h), each of them a fiber of one thread of the CPU: they meet
// at barriers and vote as those of a GPU do, and who runs them says which goes on next.
// -fsanitize=thread takes fibers for threads, and sees what no barrier and no word orders.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace railgauge::gpu {

class Block;
class Fiber;
class Stack;

class Fibers {
 public:
  struct Pace {
    unsigned passes;  // of so many accesses to memory the others may go on at one; 0: at none
    std::uint64_t (*now_ns)();
  };

  explicit Fibers(Pace pace);
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  // One more block, whose threads run `body`; `seed` of what they draw.
  void add(std::function<void()> body, unsigned block, unsigned blocks, unsigned threads,
           unsigned seed = 0);
  bool are_over() const { return left_ == 0; }
  // How many could go on. The others are at barriers.
  std::size_t ready() const { return ready_.size(); }
  // That one goes on until it waits, or lets the others go on; whether it did anything but wait.
  // Another one may take its number, those that it brings along are behind the others.
  bool go_on(std::size_t number);
  // Whether one has written a word that others wait for, since this was asked last.
  bool have_written() { return written_.exchange(false, std::memory_order_relaxed); }
  // Whether one has found nothing of what it waits for.
  bool have_waited() { return waited_.exchange(false, std::memory_order_relaxed); }

 private:
  friend class Fiber;

  const Pace pace_;
  std::atomic<bool> written_{false}, waited_{false};  // which order nothing
  std::unique_ptr<Stack> main_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Fiber*> ready_;
  std::size_t left_ = 0;
};

}  // namespace railgauge::gpu
