// SPDX-License-Identifier: Apache-2.0
// One rank's end of a communicator: its channels, connected, and the operations over them.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "collectives/native/channel.h"
#include "collectives/native/dtype.h"
#include "collectives/native/executor.h"
#include "transports/native/doorbell.h"

namespace railgauge {

class Communicator {
 public:
  struct Options {
    std::chrono::nanoseconds timeout;  // longest time that an operation may go without progress
    std::chrono::nanoseconds spin;     // polling before sleeping
    std::size_t min_channel_bytes;     // a channel is used from this many bytes on
    std::size_t stream_bytes;          // results this large, out of place, bypass the caches
  };

  Communicator(std::shared_ptr<Doorbell> doorbell, std::vector<RingChannel> channels,
               Options options);

  // destination[i] = op over ranks of source[i]; source may be destination. Blocks; any thread may
  // call Doorbell::abort() meanwhile. Throws Error; after that the communicator is of no more use.
  void all_reduce(const void* source, void* destination, std::size_t count, Dtype dtype, Redop op);

  // How many channels an operation of `bytes` uses.
  int channels_for(std::size_t bytes) const;

  // For other threads: what this rank waits for now; after an Error, what it waited for.
  BlockedOn blocked_on() const { return blocked_on_.load(std::memory_order_relaxed); }

 private:
  std::shared_ptr<Doorbell> doorbell_;
  std::vector<RingChannel> channels_;
  Options options_;
  std::atomic<BlockedOn> blocked_on_{BlockedOn{}};
};

}  // namespace railgauge
