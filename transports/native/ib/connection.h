// SPDX-License-Identifier: Apache-2.0
// The NET/IB transport: a FIFO whose slots the sender's device writes. Its creator passes each end
// the other one's facts, and lets no rank send before both ends are connected.
#pragma once

#include <memory>
#include <string>

#include "transports/native/ib/incoming_link.h"
#include "transports/native/ib/outgoing_link.h"
#include "transports/native/ib/proxy.h"
#include "transports/native/transport.h"

namespace railgauge::ib {

class IbSender final : public Sender {
 public:
  IbSender(std::shared_ptr<Proxy> proxy, const Rails& rails, const End& end);
  std::string via() const override { return via_; }
  const Link& link() const { return *link_; }
  void connect(const std::string& peer_facts) { link_->connect(peer_facts); }
  // Throws PeerLost once the connection has ended, Error(kSystem) once a device of this rank
  // failed.
  std::byte* acquire() override;
  void post(std::size_t bytes, std::uint32_t tag = 0) override;
  // Without a copy from memory that the proxy has registered.
  void lend(const std::byte* data, std::size_t bytes, std::uint32_t tag = 0) override;
  bool borrows(const std::byte* data, std::size_t bytes) const override {
    return !OutgoingLink::is_short(bytes) && proxy_->registrations().find(data, bytes) != nullptr;
  }
  // Into the memory described by the peer's IbReceiver::expose().
  void aim(const std::string& remote_facts) { link_->aim(remote_facts); }
  bool aims() const override { return link_->aims(); }
  void put(const std::byte* data, std::size_t bytes, std::size_t at, std::uint32_t tag) override;

 private:
  std::shared_ptr<Proxy> proxy_;
  std::shared_ptr<OutgoingLink> link_;
  std::string via_;
};

class IbReceiver final : public Receiver {
 public:
  IbReceiver(std::shared_ptr<Proxy> proxy, const Rails& rails, const End& end);
  std::string via() const override { return via_; }
  const Link& link() const { return *link_; }
  void connect(const std::string& peer_facts) { link_->connect(peer_facts); }
  // Throws PeerLost once the connection has ended and all that came before was popped,
  // Error(kSystem) once a device of this rank failed.
  Message front() override;
  void pop() override;
  // Lets the peer put messages into memory that the proxy has registered for it; returns the
  // argument of aim(). Throws Error(kInvalid) for other memory.
  std::string expose(const std::byte* data, std::size_t bytes);

 private:
  std::shared_ptr<Proxy> proxy_;
  std::shared_ptr<IncomingLink> link_;
  std::string via_;
};

}  // namespace railgauge::ib
