// SPDX-License-Identifier: Apache-2.0
#include "transports/native/socket/connection.h"

namespace railgauge::socket {

SocketSender::SocketSender(std::shared_ptr<Proxy> proxy, const End& end)
    : Sender(end.peer, end.slot_bytes),
      proxy_(std::move(proxy)),
      link_(std::make_shared<OutgoingLink>(end, proxy_->doorbell())),
      via_(end.via) {
  proxy_->add(link_);
}

std::byte* SocketSender::acquire() {
  if (link_->health().state()) link_->health().raise();
  return link_->fifo().vacant();
}

void SocketSender::post(std::size_t bytes, std::uint32_t tag) {
  push(link_->fifo().vacant(), bytes, tag);
}

void SocketSender::lend(const std::byte* data, std::size_t bytes, std::uint32_t tag) {
  borrows(data, bytes) ? push(data, bytes, tag) : Sender::lend(data, bytes, tag);
}

void SocketSender::push(const std::byte* data, std::size_t bytes, std::uint32_t tag) {
  link_->fifo().push(data, bytes, tag);
  count(bytes);
  if (!link_->attended()) {
    link_->wake();
  } else if (!proxy_->gave_up()) {
    link_->move();
  }
}

SocketReceiver::SocketReceiver(std::shared_ptr<Proxy> proxy, const End& end)
    : Receiver(end.peer, end.slot_bytes),
      proxy_(std::move(proxy)),
      link_(std::make_shared<IncomingLink>(end, proxy_->doorbell())),
      via_(end.via) {
  proxy_->add(link_);
}

Message SocketReceiver::front() {
  Health::State state = link_->health().state();  // before the look: nothing arrives after it
  Message message = link_->fifo().oldest();
  if (message.data == nullptr && link_->attended() && !proxy_->gave_up()) {
    link_->move();
    state = link_->health().state();
    message = link_->fifo().oldest();
  }
  if (message.data == nullptr && link_->is_over(state)) link_->health().raise();
  return message;
}

void SocketReceiver::pop() {
  count(link_->fifo().oldest().bytes);
  link_->fifo().pop();
  link_->wake();
}

void SocketReceiver::prefer(std::byte* place, std::size_t bytes) {
  if (link_->attended()) link_->fifo().prefer(place, bytes);
}

}  // namespace railgauge::socket
