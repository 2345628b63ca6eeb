// SPDX-License-Identifier: Apache-2.0
// The NET/Socket transport: a FIFO over one or several TCP sockets. Whoever sets it up has
// connected them and let both ends prove who they are (transports/data_listener.py).
//
// TCP's window holds a sender back: what is under way is the sender's slots and the kernel's
// buffers of this connection (and the receiver's slots where a helper fills them), and a full one
// holds no other up, since each has sockets of its own.
#pragma once

#include <memory>
#include <string>

#include "transports/native/socket/link.h"
#include "transports/native/socket/proxy.h"
#include "transports/native/transport.h"

namespace railgauge::socket {

class SocketSender final : public Sender {
 public:
  SocketSender(std::shared_ptr<Proxy> proxy, const End& end);
  std::string via() const override { return via_; }
  // Throws PeerLost once the connection has ended.
  std::byte* acquire() override;
  void post(std::size_t bytes, std::uint32_t tag = 0) override;
  void lend(const std::byte* data, std::size_t bytes, std::uint32_t tag = 0) override;
  // A helper would go on reading after an operation has failed, so it gets a copy.
  bool borrows(const std::byte*, std::size_t) const override { return link_->attended(); }

 private:
  void push(const std::byte* data, std::size_t bytes, std::uint32_t tag);

  std::shared_ptr<Proxy> proxy_;
  std::shared_ptr<OutgoingLink> link_;
  std::string via_;
};

class SocketReceiver final : public Receiver {
 public:
  SocketReceiver(std::shared_ptr<Proxy> proxy, const End& end);
  std::string via() const override { return via_; }
  // Throws PeerLost once the connection has ended and all that came before was popped.
  Message front() override;
  void pop() override;
  void prefer(std::byte* place, std::size_t bytes) override;

 private:
  std::shared_ptr<Proxy> proxy_;
  std::shared_ptr<IncomingLink> link_;
  std::string via_;
};

}  // namespace railgauge::socket
