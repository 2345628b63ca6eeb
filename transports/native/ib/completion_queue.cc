// SPDX-License-Identifier: Apache-2.0
#include "transports/native/ib/completion_queue.h"

#include <arpa/inet.h>
#include <fcntl.h>

#include <algorithm>

namespace railgauge::ib {

namespace {

constexpr int kAtOnce = 16;

Completion of(const abi::Wc& wc) {
  Completion completion{};
  completion.status = wc.status;
  completion.queue_pair = static_cast<std::uint32_t>(wc.wr_id >> Completion::kNumberBits);
  completion.number = wc.wr_id & Completion::kNumberMask;
  completion.vendor_error = wc.vendor_err;
  // With an error only the id, status and vendor's error are valid: ibv_poll_cq(3).
  if (wc.status != abi::kWcSuccess || completion.number != 0) return completion;
  completion.kind = wc.opcode == abi::kWcRecvRdmaWithImm ? Completion::kMessage : Completion::kNote;
  completion.immediate = ntohl(wc.imm_data);
  return completion;
}

}  // namespace

CompletionChannel::CompletionChannel(std::shared_ptr<Rail> rail)
    : rail_(std::move(rail)), channel_(Verbs::get().create_comp_channel(rail_->context())) {
  if (!channel_) throw verbs_error(rail_->name() + ": making a completion channel", errno);
  const int flags = fcntl(fd(), F_GETFL);
  if (flags < 0 || fcntl(fd(), F_SETFL, flags | O_NONBLOCK) != 0) {
    throw system_error(rail_->name() + ": preparing a completion channel");
  }
}

CompletionChannel::~CompletionChannel() { Verbs::get().destroy_comp_channel(channel_); }

int CompletionChannel::fd() const { return channel_->fd; }

void CompletionChannel::take_events() {
  abi::Cq* queue = nullptr;
  void* owner = nullptr;
  while (Verbs::get().get_cq_event(channel_, &queue, &owner) == 0) {
    static_cast<CompletionQueue*>(owner)->armed_.store(false, std::memory_order_release);
    Verbs::get().ack_cq_events(queue, 1);
  }
}

Rails rails_of(const CompletionChannels& channels) {
  Rails rails;
  for (const auto& channel : channels) rails.push_back(channel->rail());
  return rails;
}

CompletionQueue::CompletionQueue(std::shared_ptr<CompletionChannel> channel, std::uint32_t entries)
    : channel_(std::move(channel)) {
  const Rail& rail = *channel_->rail();
  queue_ =
      Verbs::get().create_cq(rail.context(), static_cast<int>(entries), this, channel_->get(), 0);
  if (!queue_) throw verbs_error(rail.name() + ": making a completion queue", errno);
}

CompletionQueue::~CompletionQueue() { Verbs::get().destroy_cq(queue_); }

int CompletionQueue::poll(Completion* into, int most) {
  abi::Wc found[kAtOnce];
  const int count = queue_->context->ops.poll_cq(queue_, std::min(most, kAtOnce), found);
  if (count < 0) throw Error(ErrorCode::kSystem, channel_->rail()->name() + ": polling failed");
  std::transform(found, found + count, into, of);
  return count;
}

void CompletionQueue::arm() {
  if (armed_.exchange(true, std::memory_order_acq_rel)) return;
  if (int error = queue_->context->ops.req_notify_cq(queue_, 0)) {
    throw verbs_error(channel_->rail()->name() + ": asking for completion events", error);
  }
}

}  // namespace railgauge::ib
