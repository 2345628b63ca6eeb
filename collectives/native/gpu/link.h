// SPDX-License-Identifier: Apache-2.0
// The path between two GPUs of this process: messages over it timed by the GPUs' clocks, and their
// data verified. Each GPU has a source, a destination, and a stream.
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

// How bytes are copied: by the copy engine, or by threads of one GPU that store into the other's
// memory or load from it. The numbers are part of the Python binding
// (collectives/link/copy_method.py).
enum class CopyMethod : int { kCopyEngine, kStores, kLoads };
// From the lower GPU to the higher, back, both at once, or a round trip.
enum class Flow : int { kOut, kBack, kBoth, kThereAndBack };

class GpuLink {
 public:
  // GPUs by CUDA's numbers; two times `room` bytes are allocated on each. With `peers` they access
  // each other's memory; without, the driver copies through memory of the host, and only the copy
  // engine can be used. Error (kInvalid): both are one GPU; (kSystem): no driver, no such GPU, not
  // enough memory, no access, no kernels.
  GpuLink(int low, int high, std::size_t room, bool peers, double timeout_s);
  ~GpuLink();
  GpuLink(const GpuLink&) = delete;
  GpuLink& operator=(const GpuLink&) = delete;

  // The seconds of one of `times` messages of `size` bytes; an untimed one goes first. With
  // threads, a round trip is handed over within one kernel on either GPU, with a flag beside every
  // four bytes, which doubles its size; wrong data never arrives. Error (kTimeout): the GPUs did
  // not finish in time; (kAborted): `abort` was called.
  double seconds(CopyMethod method, Flow flow, std::size_t size, int times);
  // Send fresh bytes in both directions: the verdict on what the lower GPU received, and the higher
  // one.
  std::array<Verdict, 2> check(CopyMethod method, std::size_t size, std::uint64_t seed);
  // End another thread's measurement.
  void abort();

 private:
  class Access;
  struct Side;

  static Side& driver_of(CopyMethod method, Side& from, Side& to);
  double time(CopyMethod method, Flow flow, std::size_t size, int times);
  void put(CopyMethod method, Flow flow, std::size_t size, int times);
  void put_copy(CopyMethod method, Side& by, Side& from, Side& to, std::size_t size);
  void put_hand_over(CopyMethod method, Side& side, Side& peer, std::size_t size, unsigned turns);
  void begin_hand_over(CopyMethod method, std::size_t size);
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
