// SPDX-License-Identifier: Apache-2.0
#include "transports/native/ib/connection.h"

namespace railgauge::ib {

IbSender::IbSender(std::shared_ptr<Proxy> proxy, const Rails& rails, const End& end)
    : Sender(end.peer, end.slot_bytes),
      proxy_(std::move(proxy)),
      link_(std::make_shared<OutgoingLink>(end, proxy_->channels(rails))),
      via_(end.via) {
  proxy_->add(link_);
}

std::byte* IbSender::acquire() {
  if (proxy_->gave_up()) return nullptr;
  std::byte* slot = link_->vacant();
  if (slot == nullptr && link_->move()) slot = link_->vacant();
  if (link_->health().state()) link_->health().raise();
  if (proxy_->failure().happened()) proxy_->failure().raise();
  return slot;
}

void IbSender::post(std::size_t bytes, std::uint32_t tag) {
  link_->push(bytes, tag);
  count(bytes);
}

void IbSender::lend(const std::byte* data, std::size_t bytes, std::uint32_t tag) {
  const Region* region = proxy_->registrations().find(data, bytes);
  if (OutgoingLink::is_short(bytes)) {
    link_->push_short(data, bytes, tag);
  } else if (region != nullptr) {
    link_->lend(data, bytes, tag, *region);
  } else {
    return Sender::lend(data, bytes, tag);
  }
  count(bytes);
}

void IbSender::put(const std::byte* data, std::size_t bytes, std::size_t at, std::uint32_t tag) {
  link_->put(data, bytes, at, tag, proxy_->registered(data, bytes));
  count(bytes);
}

IbReceiver::IbReceiver(std::shared_ptr<Proxy> proxy, const Rails& rails, const End& end)
    : Receiver(end.peer, end.slot_bytes),
      proxy_(std::move(proxy)),
      link_(std::make_shared<IncomingLink>(end, proxy_->channels(rails))),
      via_(end.via) {
  proxy_->add(link_);
}

Message IbReceiver::front() {
  Message message = link_->oldest();
  if (message.data != nullptr || proxy_->gave_up()) return message;
  link_->move();
  const Health::State state = link_->health().state();
  message = link_->oldest();
  if (message.data != nullptr) return message;
  if (link_->is_over(state)) link_->health().raise();
  if (proxy_->failure().happened()) proxy_->failure().raise();
  return message;
}

void IbReceiver::pop() {
  count(link_->oldest().bytes);
  link_->pop();
}

std::string IbReceiver::expose(const std::byte* data, std::size_t bytes) {
  return link_->expose(data, bytes, proxy_->registered(data, bytes, abi::kRemoteWrite));
}

}  // namespace railgauge::ib
