// SPDX-License-Identifier: Apache-2.0
// A connection: its queue pairs on all rails, its slots, and what the two ends say to each other.
//
// The sender writes a message and its header into the receiver's slot (RDMA WRITE); the immediate
// of each piece's last write tells the receiver which message it belongs to and how many pieces
// there are. The receiver says how many messages it has popped, every few of them, by a note: an
// immediate without data. A note also says that an end closes.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "transports/native/health.h"
#include "transports/native/ib/completion_queue.h"
#include "transports/native/ib/memory.h"
#include "transports/native/ib/queue_pair.h"
#include "transports/native/ib/striping.h"
#include "transports/native/transport.h"

namespace railgauge::ib {

// What both ends are made of.
struct End {
  int peer;
  std::string address;  // the peer's, for messages
  std::string via;      // "NET/IB/0": 0 is this end's device
  std::uint32_t slots;
  std::uint32_t slot_bytes;
  int queue_pairs;  // on each rail
  bool split;       // every message over all of them
};

using Rails = std::vector<std::shared_ptr<Rail>>;
using Channels = std::vector<std::shared_ptr<CompletionChannel>>;  // one of each rail
using Clock = std::chrono::steady_clock;

class Link {
 public:
  virtual ~Link() = default;

  const Health& health() const { return *health_; }
  // What the peer's connect() takes: LinkFacts, and QueuePairFacts of each queue pair.
  std::string facts() const;
  // Throws Error(kMismatch) when the ends are not made alike, Error(kSystem) when the device
  // refuses.
  void connect(const std::string& peer_facts);
  bool connected() const { return connected_; }
  std::vector<QueuePairAttributes> attributes() const;

  // Takes what has completed; whether anything has.
  bool move();
  // The next completion wakes this rank's sleeper.
  void arm();
  // The rank only waits: makes sure now and then that the peer is still there, since nothing comes
  // from one that is gone. A device may try for ever (Soft-RoCE does with 7 retries), so one that
  // answers nothing for twice as long as all tries should take, and at least 5 s, is gone too.
  void probe(Clock::time_point now);
  // Tells the peer that this end closes, behind all that was posted.
  void say_bye();
  // Whether all that was posted has arrived, or never will.
  bool drained() const;
  // Ends the queue pairs: nothing is sent or received any more. What has come stays to be read.
  void close();

 protected:
  Link(const End& end, const Channels& channels, bool sends);

  // A note's lower 31 bits count messages.
  static constexpr std::uint32_t kBye = 1u << 31;

  virtual void take_note(std::uint32_t count) = 0;
  virtual void take_piece(std::uint32_t immediate) = 0;
  virtual std::uint32_t count_to_tell() const = 0;
  // After a look at what has completed.
  virtual void after_move() {}
  void send_note(std::uint32_t immediate, bool signaled);
  // A write of nothing, which only asks for an answer.
  std::uint64_t send_nothing(QueuePair& pair);
  void fail(const Completion& completion);

  std::shared_ptr<Health> health_;
  bool sends_;
  Striping striping_;
  SlotMemory memory_;
  std::vector<std::unique_ptr<CompletionQueue>> completions_;  // of each rail
  std::vector<std::unique_ptr<QueuePair>> pairs_;
  std::uint64_t peer_slots_ = 0;           // where they lie there
  std::vector<std::uint32_t> peer_rkeys_;  // of them, for each queue pair
  std::uint32_t bye_count_ = 0;            // how many messages the peer's bye told of

 private:
  void take(const Completion& completion);

  std::uint32_t queue_pairs_;
  bool connected_ = false;
  bool heard_ = true;     // since the last look at the clock
  bool probing_ = false;  // nothing heard since probes were sent
  Clock::duration patience_;
  Clock::time_point probe_at_{}, probing_since_{};
  std::vector<std::uint64_t> probes_;  // of each rail: the number of the send
  std::vector<std::uint32_t> used_receives_;
};

// The rank fills slots here and writes them to the peer's.
class OutgoingLink final : public Link {
 public:
  OutgoingLink(const End& end, const Channels& channels) : Link(end, channels, true) {}
  // The next slot, or nullptr while the peer has not read that many.
  std::byte* vacant() const;
  void push(std::size_t bytes, std::uint32_t tag);

 private:
  void take_note(std::uint32_t count) override;
  void take_piece(std::uint32_t immediate) override;
  std::uint32_t count_to_tell() const override { return static_cast<std::uint32_t>(posted_); }

  std::uint64_t posted_ = 0, popped_ = 0;  // there
};

class IncomingLink final : public Link {
 public:
  IncomingLink(const End& end, const Channels& channels);
  // The oldest message if all of it is there, else {nullptr, 0}.
  Message oldest();
  void pop();
  // Whether nothing more comes, given how the connection stood before the last look.
  bool is_over(Health::State state) const {
    return state == Health::kBroken || (state == Health::kEnded && bye_count_ == count_to_tell());
  }

 private:
  struct Arrived {
    std::uint32_t pieces = 0, of = 0;
  };
  void take_note(std::uint32_t count) override {}
  void take_piece(std::uint32_t immediate) override;
  void after_move() override { tell_popped(arrived_.size() / 2); }
  std::uint32_t count_to_tell() const override {
    return static_cast<std::uint32_t>(popped_) & ~kBye;
  }
  void tell_popped(std::uint64_t at_least);

  std::vector<Arrived> arrived_;  // of each slot
  std::uint64_t popped_ = 0, told_ = 0;
};

}  // namespace railgauge::ib
