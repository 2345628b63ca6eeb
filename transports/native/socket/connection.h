// SPDX-License-Identifier: Apache-2.0
// The NET/Socket transport: a FIFO over one or several TCP sockets. Its creator has connected and
// authenticated them (transports/data_listener.py). TCP's flow control limits the sender: at most
// the sender's slots and the kernel's buffers of this connection (and the receiver's slots if a
// helper fills them) are under way, and a full connection does not block others, since each has its
// own sockets.
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
  // Throws PeerLost once the connection has ended and all received messages are popped.
  Message front() override;
  void pop() override;
  void prefer(std::byte* place, std::size_t bytes) override;

 private:
  std::shared_ptr<Proxy> proxy_;
  std::shared_ptr<IncomingLink> link_;
  std::string via_;
};

}  // namespace railgauge::socket
