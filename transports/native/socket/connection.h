// SPDX-License-Identifier: Apache-2.0
// The NET/Socket transport: a FIFO over one TCP socket, which the rank's proxy pumps. Whoever sets
// it up has connected the socket and let both ends prove who they are
// (transports/data_listener.py).
#pragma once

#include <memory>
#include <string>

#include "transports/native/socket/proxy.h"
#include "transports/native/transport.h"

namespace railgauge::socket {

// What both ends are made of; the proxy takes over the socket `fd`.
struct End {
  int fd;
  int peer;
  std::string address;  // the peer's, for messages
  std::string via;      // "NET/Socket/0": 0 is this end's interface
  std::uint32_t slots;
  std::uint32_t slot_bytes;
};

class SocketSender final : public Sender {
 public:
  SocketSender(std::shared_ptr<Proxy> proxy, const End& end);
  std::string via() const override { return via_; }
  // Throws PeerLost once the connection has ended.
  std::byte* acquire() override;
  void post(std::size_t bytes) override;

 private:
  std::shared_ptr<Proxy> proxy_;
  std::shared_ptr<OutgoingWire> wire_;
  std::string via_;
};

class SocketReceiver final : public Receiver {
 public:
  SocketReceiver(std::shared_ptr<Proxy> proxy, const End& end);
  std::string via() const override { return via_; }
  // Throws PeerLost once the connection has ended and all that came before was popped.
  Message front() override;
  void pop() override;

 private:
  std::shared_ptr<Proxy> proxy_;
  std::shared_ptr<IncomingWire> wire_;
  std::string via_;
};

}  // namespace railgauge::socket
