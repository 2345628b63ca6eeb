// SPDX-License-Identifier: Apache-2.0
// A proxy moves staging buffers between nodes: it sends what this rank's kernels write into
// outgoing buffers over a connection of the host, and puts received data into the buffers that its
// kernels read. It is one thread, for a share of the blocks. A message is sent once its kernel has
// posted it; the kernel sees its slot as free once the peer's kernel has read the message, so that
// one block never stalls a connection. If the peer has registered its slots, its NIC puts messages
// into the slots that the kernel reads, else the proxy copies them.
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

// The staging buffers between this rank and one on another node, as the host addresses their words,
// and the connections of one proxy, for its blocks in turn. Slots may be in this GPU's memory if
// NICs move them.
struct Route {
  int rank;
  std::byte *in, *out, *in_slots, *out_slots;
  bool in_gpu;  // the NIC writes received data there directly
  std::vector<std::shared_ptr<Sender>> to;
  std::vector<std::shared_ptr<Receiver>> from;
  std::shared_ptr<gdr::Flush> flush;  // received data needs it before a kernel may read; null: not
};

class GpuProxy {
 public:
  // For the blocks b with b % proxies == proxy. `status` is set when a peer is lost.
  GpuProxy(const Layout& layout, int proxy, int proxies, std::vector<Route> routes,
           std::shared_ptr<Doorbell> doorbell, Status* status);
  ~GpuProxy();
  // An operation has started.
  void wake() { woken_.store(true, std::memory_order_relaxed); }
  // The failure; empty: none yet. For any thread: `status` may hold another proxy's failure.
  std::string problem() const {
    return failed_.load(std::memory_order_acquire) ? problem_ : std::string();
  }

 private:
  // One direction of a staging buffer, for one block.
  struct Stream {
    Route* route;
    std::uint32_t tag;
    Progress *in, *out;
    std::byte *in_slots, *out_slots;
    std::size_t at;  // of its slots, among all of a staging buffer
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
