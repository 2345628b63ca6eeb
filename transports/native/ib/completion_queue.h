// SPDX-License-Identifier: Apache-2.0
// A completion queue of one connection on one rail, and the channel on which all those of a rail
// wake a sleeper.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "transports/native/ib/rail.h"

namespace railgauge::ib {

// The operation that a completion belongs to. A work request's id holds the number of its queue
// pair, and for a send its own number on that queue pair, counted from 1.
struct Completion {
  int status;
  std::uint32_t queue_pair;
  std::uint64_t number;  // of the send; 0: a receive
  enum Kind {
    kSend,
    kMessage,
    kNote
  } kind;  // kMessage: data was written; kNote: an immediate alone
  std::uint32_t immediate;
  std::uint32_t vendor_error;

  static std::uint64_t id(std::uint32_t queue_pair, std::uint64_t number) {
    return std::uint64_t{queue_pair} << kNumberBits | (number & kNumberMask);
  }
  static constexpr int kNumberBits = 48;
  static constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kNumberBits) - 1;
};

class CompletionChannel {
 public:
  explicit CompletionChannel(std::shared_ptr<Rail> rail);
  ~CompletionChannel();
  CompletionChannel(const CompletionChannel&) = delete;
  CompletionChannel& operator=(const CompletionChannel&) = delete;

  const std::shared_ptr<Rail>& rail() const { return rail_; }
  abi::CompChannel* get() const { return channel_; }
  // Readable when a queue that was armed has something.
  int fd() const;
  // Takes the pending events; their queues can be armed again.
  void take_events();

 private:
  std::shared_ptr<Rail> rail_;
  abi::CompChannel* channel_;
};

using CompletionChannels = std::vector<std::shared_ptr<CompletionChannel>>;  // one of each rail
Rails rails_of(const CompletionChannels& channels);

class CompletionQueue {
 public:
  // Holds up to `entries`, which its queue pairs together must not exceed.
  CompletionQueue(std::shared_ptr<CompletionChannel> channel, std::uint32_t entries);
  ~CompletionQueue();
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  abi::Cq* get() const { return queue_; }
  // Up to `most` completions, oldest first; returns how many.
  int poll(Completion* into, int most);
  // The channel gets an event with the next completion. Poll once more after this.
  void arm();

 private:
  friend class CompletionChannel;
  std::shared_ptr<CompletionChannel> channel_;
  abi::Cq* queue_;
  std::atomic<bool> armed_{false};
};

}  // namespace railgauge::ib
