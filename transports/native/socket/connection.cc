// SPDX-License-Identifier: Apache-2.0
#include "transports/native/socket/connection.h"

namespace railgauge::socket {

namespace {

template <typename Kind>
std::shared_ptr<Kind> wire_of(Proxy& proxy, const End& end) {
  auto wire = std::make_shared<Kind>(end.fd, end.peer, end.address, end.slots, end.slot_bytes);
  proxy.add(wire);
  return wire;
}

}  // namespace

SocketSender::SocketSender(std::shared_ptr<Proxy> proxy, const End& end)
    : Sender(end.peer, end.slot_bytes),
      proxy_(std::move(proxy)),
      wire_(wire_of<OutgoingWire>(*proxy_, end)),
      via_(end.via) {}

std::byte* SocketSender::acquire() {
  if (wire_->failed()) wire_->raise();
  return wire_->fifo().vacant();
}

void SocketSender::post(std::size_t bytes) {
  wire_->fifo().push(bytes);
  count(bytes);
  proxy_->wake();
}

SocketReceiver::SocketReceiver(std::shared_ptr<Proxy> proxy, const End& end)
    : Receiver(end.peer, end.slot_bytes),
      proxy_(std::move(proxy)),
      wire_(wire_of<IncomingWire>(*proxy_, end)),
      via_(end.via) {}

Message SocketReceiver::front() {
  bool failed = wire_->failed();  // before the look: nothing arrives after it
  Message message = wire_->fifo().oldest();
  if (message.data == nullptr && failed) wire_->raise();
  return message;
}

void SocketReceiver::pop() {
  count(wire_->fifo().oldest().bytes);
  wire_->fifo().pop();
  proxy_->wake();
}

}  // namespace railgauge::socket
