// SPDX-License-Identifier: Apache-2.0
// The way between two GPUs of this process: messages over it timed by the GPUs' clocks, and their
// data checked. Each GPU has a source, a destination, and a stream.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include "collectives/native/pattern.h"
#include "transports/native/cuda/driver.h"
#include "transports/native/cuda/pinned.h"

namespace railgauge::gpu {

struct Status;

// Who moves the bytes: the copy engine, or threads of one GPU that store into the memory of the
// other or load from it. The numbers are part of the Python binding (collectives/link/mover.py).
enum class Mover : int { kCopyEngine, kStores, kLoads };
// From the lower GPU to the higher, back, both at once, or a message and its answer.
enum class Flow : int { kOut, kBack, kBoth, kThereAndBack };

class Link {
 public:
  // GPUs by CUDA's numbers; two times `room` bytes are taken of each. With `peers` they reach each
  // other's memory; without, the driver copies through memory of the host, and only the copy engine
  // can move anything. Error (kInvalid): both are one GPU; (kSystem): no driver, no such GPU, not
  // enough memory, no access, no kernels.
  Link(int low, int high, std::size_t room, bool peers, double timeout_s);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // What one of `times` messages of `size` bytes takes; one more goes ahead. Where threads move
  // them, a message there and back is handed over within one kernel on either GPU, with a flag
  // beside every four bytes, which takes twice its size; what comes wrong never comes. Error
  // (kTimeout): the GPUs were not done in time; (kAborted): `abort` was called.
  double seconds(Mover mover, Flow flow, std::size_t size, int times);
  // Send fresh bytes both ways: what the lower GPU got of the higher one's, and that one.
  std::array<Verdict, 2> check(Mover mover, std::size_t size, std::uint64_t seed);
  // End what another thread measures.
  void abort();

 private:
  class Access;
  struct Side;

  static Side& mover_of(Mover mover, Side& from, Side& to);
  double time(Mover mover, Flow flow, std::size_t size, int times);
  void put(Mover mover, Flow flow, std::size_t size, int times);
  void put_copy(Mover mover, Side& by, Side& from, Side& to, std::size_t size);
  void put_hand_over(Mover mover, Side& side, Side& peer, std::size_t size, unsigned turns);
  void begin_hand_over(Mover mover, std::size_t size);
  void wait();
  void run(const std::function<void()>& work);
  void check_room(std::size_t bytes) const;
  Status* status() const;

  const cuda::Driver& cuda_ = cuda::Driver::get();
  double timeout_s_;
  std::unique_ptr<Side> low_, high_;
  std::unique_ptr<Access> out_, back_;
  std::unique_ptr<cuda::Pinned> status_;  // a Status
  unsigned turn_ = 0;                     // of messages that are handed over
};

}  // namespace railgauge::gpu
