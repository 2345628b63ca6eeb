// SPDX-License-Identifier: Apache-2.0
// How messages between two ranks go over a pair of connections:
//
//   sender                       receiver
//   short message            ->  copied to the receive that takes it, or kept until there is one
//   offer of a long one      ->  kept until there is a receive for it
//                            <-  accept
//   data, slot by slot       ->  into the receive's memory
//
// Short messages and offers go in the order of the sends, which is the order in which they are
// matched; a long message does not hold up those after it. For one thread at a time; nothing here
// waits.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "collectives/native/matching.h"
#include "collectives/native/pairs.h"

namespace railgauge {

class MessageFlow {
 public:
  // `pairs` are by rank, empty for this one.
  MessageFlow(int rank, std::vector<Pair> pairs);

  int ranks() const { return static_cast<int>(peers_.size()); }
  void start(const TransferPtr& transfer);
  // Moves what can be moved; returns whether anything was. Throws Error when ranks disagree; lost
  // peers end their transfers alone.
  bool progress();
  // Ends everything.
  void fail(const std::exception_ptr& error);
  // Transfers that were started and are not done, by number.
  const std::map<std::uint64_t, TransferPtr>& under_way() const { return under_way_; }

 private:
  struct Peer {
    Pair ends;
    std::deque<TransferPtr> announced;              // sends whose message or offer is not yet sent
    std::map<std::uint32_t, TransferPtr> offered;   // sends that the peer has not accepted
    std::deque<TransferPtr> leaving;                // sends that it has
    std::deque<std::uint32_t> accepts;              // not yet sent
    std::map<std::uint32_t, TransferPtr> arriving;  // receives, by the offer that they took
    std::uint32_t offers = 0;
    std::exception_ptr gone;  // the connection has ended
  };

  void start_receive(const TransferPtr& receive);
  void send_to_itself(const TransferPtr& send);
  bool receive_from(int rank);
  bool send_to(Peer& peer);
  void take(int rank, const Message& message);
  void take_announced(int rank, const Message& message, bool is_offer);
  void take_data(int rank, const Message& message);
  void deliver(const TransferPtr& receive, const Arrived& message, const std::byte* data);
  void announce(Peer& peer, std::byte* slot);
  void send_data(Peer& peer, std::byte* slot);
  void lose(Peer& peer, int rank, const std::exception_ptr& error);
  void finish(const TransferPtr& transfer, const std::exception_ptr& error = nullptr);

  int rank_;
  std::vector<Peer> peers_;
  Matching matching_;
  std::map<std::uint64_t, TransferPtr> under_way_;
  std::uint64_t started_ = 0;
};

}  // namespace railgauge
