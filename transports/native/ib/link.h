// SPDX-License-Identifier: Apache-2.0
// A connection: its queue pairs on all rails, its slots, and the protocol of its two ends.
//
// The sender writes a message and its header into the receiver's slot, a short one into a cell
// (RDMA WRITE); the immediate of each piece's last write tells the receiver which message it
// belongs to and how many pieces there are. The receiver reports how many messages it has popped,
// every few of them, with a note: an immediate without data. A note also reports that an end
// closes. The two kinds of end: outgoing_link.h, incoming_link.h.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "transports/native/clock.h"
#include "transports/native/health.h"
#include "transports/native/ib/completion_queue.h"
#include "transports/native/ib/memory.h"
#include "transports/native/ib/queue_pair.h"
#include "transports/native/ib/striping.h"
#include "transports/native/transport.h"

namespace railgauge::ib {

// The parts of both ends.
struct End {
  int peer;
  std::string address;  // the peer's, for messages
  std::string via;      // "NET/IB/0": 0 is this end's device
  std::uint32_t slots;
  std::uint32_t slot_bytes;
  int queue_pairs;  // on each rail
  bool split;       // every message over all of them
};

// The immediate of a piece.
struct Piece {
  static constexpr std::uint32_t kNumberMask = 0x7fffff;
  std::uint32_t message;  // its number, of 23 bits
  bool is_short;          // it is in a cell
  std::uint32_t of;       // pieces of that message, 1 to 256

  std::uint32_t immediate() const {
    return (message & kNumberMask) << 9 | static_cast<std::uint32_t>(is_short) << 8 | (of - 1);
  }
  static Piece from(std::uint32_t immediate) {
    return {immediate >> 9, (immediate >> 8 & 1) != 0, (immediate & 0xff) + 1};
  }
};

class Link {
 public:
  static constexpr std::uint32_t kWritesOfPiece = 2;
  static constexpr std::uint32_t kSpare = 4;  // sends of a queue pair for notes and probes

  virtual ~Link() = default;

  const Health& health() const { return *health_; }
  // The argument of the peer's connect(): LinkFacts, and QueuePairFacts of each queue pair.
  std::string facts() const;
  // Throws Error(kMismatch) if the ends have different settings, Error(kSystem) if the device
  // refuses.
  void connect(const std::string& peer_facts);
  bool connected() const { return connected_; }
  std::vector<QueuePairAttributes> attributes() const;

  // Processes completions; returns whether there were any.
  bool move();
  // The next completion wakes this rank's sleeper.
  void arm();
  // The rank only waits: periodically checks over each rail that the peer is still there, since
  // nothing arrives from one that is gone. A device may retry forever (Soft-RoCE does with 7
  // retries), so a peer that does not answer for twice as long as all retries should take, and at
  // least 5 s, counts as gone.
  void probe(Clock::time_point now);
  // Whether a device may still read memory of the caller's.
  virtual bool lends() const { return false; }
  // Reports to the peer that this end closes, after all posted messages.
  void say_bye();
  // Whether all posted messages have arrived, or never will.
  bool drained() const;
  // Posts nothing more, and waits for nothing.
  void give_up(const std::string& why) { health_->fail(Health::kBroken, why); }
  // Ends the queue pairs: nothing more is sent or received. Received messages can still be read.
  void close();

 protected:
  Link(const End& end, const CompletionChannels& channels, bool sends);

  // A note's lower 31 bits count messages.
  static constexpr std::uint32_t kBye = 1u << 31;

  virtual void take_note(std::uint32_t count) = 0;
  virtual void take_piece(const Piece& piece) = 0;
  virtual std::uint32_t count_to_tell() const = 0;
  // After processing completions.
  virtual void after_move() = 0;
  // Whether queue pairs accept posts: none is known to have failed.
  bool can_post() const {
    return connected_ && health_->state() == Health::kSound && flushed_.empty();
  }
  // Reposts a receive for each immediate that has arrived.
  void post_receives();
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
  std::uint64_t peer_memory_ = 0;          // where it lies there
  std::vector<std::uint32_t> peer_rkeys_;  // of it, for each queue pair
  std::uint32_t bye_count_ = 0;            // how many messages the peer's closing note reported

 private:
  void take(const Completion& completion);
  // Signs of life of the peer over one rail.
  struct Pulse {
    bool heard = true;     // since the last look at the clock
    bool probing = false;  // nothing heard since a probe was due
    Clock::time_point probing_since;
    std::uint64_t probe = 0;  // the number of the send
  };
  void probe(Pulse& pulse, QueuePair& pair, Clock::time_point now);
  bool failed_without_cause(Clock::time_point now);

  std::uint32_t queue_pairs_;
  bool connected_ = false;
  Clock::duration patience_;
  std::vector<Pulse> pulses_;  // of each rail
  std::string flushed_;        // a flushed completion, by a failure that has not been reported yet
  Clock::time_point probe_at_{}, flushed_since_{};
  std::vector<std::uint32_t> used_receives_;
};

}  // namespace railgauge::ib
