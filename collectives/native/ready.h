// SPDX-License-Identifier: Apache-2.0
// A wait for several connections at once: messages from all receivers and free slots on all
// senders. The counterpart of the primitives for trees, whose ranks have several neighbours.
#pragma once

#include <vector>

#include "collectives/native/channel.h"
#include "collectives/native/executor.h"
#include "collectives/native/primitives.h"

namespace railgauge {

class Ready final : public Wait {
 public:
  // For an operation of this tag.
  explicit Ready(std::uint32_t tag) : tag_(tag) {}
  // Expects a message of `bytes`.
  void receive(Receiver& from, std::size_t bytes) { receivers_.push_back({&from, {}, bytes}); }
  void send(Sender& to) { senders_.push_back({&to, nullptr}); }

  bool ready() override {
    for (Incoming& in : receivers_) {
      if (!in.message.data && !(in.message = in.from->front()).data) return false;
    }
    for (Outgoing& out : senders_) {
      if (!out.slot && !(out.slot = out.to->acquire())) return false;
    }
    return true;
  }
  BlockedOn blocked_on() const override {
    for (const Incoming& in : receivers_) {
      if (!in.message.data) return {in.from->peer(), 0};
    }
    for (const Outgoing& out : senders_) {
      if (!out.slot) return {out.to->peer(), 1};
    }
    return {};
  }

  bool await_ready() { return false; }
  bool await_suspend(Task::Handle task) { return task.promise().waits_in(*this); }
  void await_resume() {
    for (const Incoming& in : receivers_) Primitives::expect(*in.from, in.message, in.bytes, tag_);
  }

  const std::byte* message(std::size_t i) const { return receivers_[i].message.data; }
  std::byte* slot(std::size_t i) const { return i < senders_.size() ? senders_[i].slot : nullptr; }
  // Sends `bytes` from every slot, and releases the messages.
  void finish(std::size_t bytes) {
    for (Outgoing& out : senders_) out.to->post(bytes, tag_);
    for (Incoming& in : receivers_) in.from->pop();
  }

 private:
  struct Incoming {
    Receiver* from;
    Message message;
    std::size_t bytes;
  };
  struct Outgoing {
    Sender* to;
    std::byte* slot;
  };
  std::uint32_t tag_;
  std::vector<Incoming> receivers_;
  std::vector<Outgoing> senders_;
};

// The same on every edge of a tree.
inline std::size_t slot_bytes_of(const TreeChannel& channel) {
  return (channel.is_root() ? channel.children[0] : channel.parent).to->slot_bytes();
}

}  // namespace railgauge
