// SPDX-License-Identifier: Apache-2.0
// A connection's sockets together with its messages, as the rank and its proxy share them. Without
// helper threads it is attended: the rank's own thread drives it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "transports/native/doorbell.h"
#include "transports/native/socket/helper.h"
#include "transports/native/socket/tcp_socket.h"

namespace railgauge::socket {

// The parts of both ends.
struct End {
  std::vector<int> fds;  // connected sockets, in the same order at both ends; taken over
  int threads;           // helper threads, at most one for each socket; 0: the rank drives them
  int peer;
  std::string address;  // the peer's, for messages
  std::string via;      // "NET/Socket/0": 0 is this end's interface
  std::uint32_t slots;
  std::uint32_t slot_bytes;
};

class Link {
 public:
  virtual ~Link() = default;

  bool attended() const { return helpers_.empty(); }
  const Health& health() const { return *health_; }
  const std::vector<std::unique_ptr<TcpSocket>>& sockets() const { return sockets_; }
  // Moves what can be moved, when attended.
  bool move();
  // There are new messages or free slots; wakes the helpers.
  void wake();
  virtual bool sends() const = 0;
  bool drained() const;
  // From any thread: nothing more is sent or received.
  void abort();
  // Ends the helpers, which may send what was posted until `by`.
  void finish(std::chrono::steady_clock::time_point by);
  void close();

 protected:
  explicit Link(const End& end);
  template <class OneSocket, class OneFifo>
  void make_sockets(OneFifo& fifo);
  // Shares the sockets out to the helpers; `doorbell` is the rank's.
  void start(const End& end, const std::shared_ptr<Doorbell>& doorbell);

  std::vector<Fd> fds_;  // until they are in sockets
  std::shared_ptr<Health> health_;
  std::vector<std::unique_ptr<TcpSocket>> sockets_;

 private:
  std::vector<std::unique_ptr<Helper>> helpers_;
};

class OutgoingLink final : public Link {
 public:
  OutgoingLink(const End& end, const std::shared_ptr<Doorbell>& doorbell);
  ~OutgoingLink() override { finish({}); }
  bool sends() const override { return true; }
  OutgoingFifo& fifo() { return fifo_; }

 private:
  OutgoingFifo fifo_;
};

class IncomingLink final : public Link {
 public:
  IncomingLink(const End& end, const std::shared_ptr<Doorbell>& doorbell);
  ~IncomingLink() override { finish({}); }
  bool sends() const override { return false; }
  // Whether nothing more arrives, given the connection's state before the last poll: it broke, or
  // it ended and no message is incomplete.
  bool is_over(Health::State state) const {
    return state == Health::kBroken || (state == Health::kEnded && fifo_.all_popped());
  }
  IncomingFifo& fifo() { return fifo_; }

 private:
  IncomingFifo fifo_;
};

}  // namespace railgauge::socket
