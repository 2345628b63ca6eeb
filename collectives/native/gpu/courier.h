// SPDX-License-Identifier: Apache-2.0
// Carries boxes between nodes: what this rank's kernels write into the boxes that leave goes over a
// connection of the host, and what comes is put into the boxes that its kernels read. One thread,
// which has the blocks of its lane.
//
// A message is carried on once its kernel has told of it; the kernel is told that a slot is free
// once the peer's kernel has read the message, so that no connection is ever held up by one block.
// Where the peer has a window, its NIC puts messages into the slots that the kernel reads, else the
// courier copies them.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "collectives/native/kernels/arguments.h"
#include "transports/native/doorbell.h"
#include "transports/native/gdr/flush.h"
#include "transports/native/transport.h"

namespace railgauge::gpu {

// The boxes between this rank and one on another node, as the host addresses their words, and what
// carries a lane of them, its blocks in turn. Slots may lie in this GPU where NICs move them.
struct Route {
  int rank;
  std::byte *in, *out, *in_slots, *out_slots;
  bool in_gpu;  // what comes lands there by itself
  std::vector<std::shared_ptr<Sender>> to;
  std::vector<std::shared_ptr<Receiver>> from;
  std::shared_ptr<gdr::Flush> flush;  // what comes needs it before a kernel may look; null: not
};

class Courier {
 public:
  // Of the blocks b with b % lanes == lane. `status` is told when a peer is lost.
  Courier(const Layout& layout, int lane, int lanes, std::vector<Route> routes,
          std::shared_ptr<Doorbell> doorbell, Status* status);
  ~Courier();
  // An operation has begun.
  void wake() { woken_.store(true, std::memory_order_relaxed); }
  // What went wrong; empty: nothing yet. For any thread: `status` may tell of another's failure.
  std::string problem() const {
    return failed_.load(std::memory_order_acquire) ? problem_ : std::string();
  }

 private:
  // One way of a box, for one block.
  struct Stream {
    Route* route;
    std::uint32_t tag;
    Progress *in, *out;
    std::byte *in_slots, *out_slots;
    std::size_t at;  // of its slots, among all of a box
    Sender* to;
    std::uint32_t carried = 0, arrived = 0, read = 0;
  };

  void run();
  void fail(int rank, const char* problem);
  bool carry_all();
  bool carry(Stream& stream);
  bool deliver(Route& route, Receiver& from);
  std::size_t slot(std::uint32_t number) const {
    return number % kSlots * std::size_t(layout_.slot_bytes);
  }

  const Layout layout_;
  std::vector<Route> routes_;
  std::vector<Stream> streams_;  // by route, kind and block
  std::shared_ptr<Doorbell> doorbell_;
  Status* status_;
  int of_kind_;          // streams, of one route
  std::string problem_;  // written once, before `failed_`
  std::atomic<bool> stop_{false}, woken_{false}, failed_{false};
  std::thread thread_;
};

}  // namespace railgauge::gpu
