// SPDX-License-Identifier: Apache-2.0
#include "transports/native/shm/connection.h"

#include "transports/native/error.h"

namespace railgauge::shm {

namespace {

std::size_t segment_size(std::uint32_t slots, std::uint32_t slot_bytes) {
  if (slots < kMinSlots || slots > kMaxSlots || slot_bytes == 0 || slot_bytes % 64 != 0) {
    throw Error(ErrorCode::kInvalid, "a FIFO must have 2 to " + std::to_string(kMaxSlots) +
                                         " slots of a multiple of 64 bytes");
  }
  return sizeof(Fifo) + std::size_t{slots} * slot_bytes;
}

Fifo* fifo_in(const Segment& segment) { return reinterpret_cast<Fifo*>(segment.data()); }

}  // namespace

ShmReceiver::ShmReceiver(int peer, std::shared_ptr<Doorbell> sender, std::uint32_t slots,
                         std::uint32_t slot_bytes)
    : Receiver(peer, slot_bytes),
      sender_(std::move(sender)),
      segment_(Segment::create(segment_size(slots, slot_bytes))),
      fifo_(fifo_in(*segment_)) {
  fifo_->slots = slots;
  fifo_->slot_bytes = slot_bytes;
}

Message ShmReceiver::front() {
  if (tail_seen_ == head_) {
    tail_seen_ = fifo_->tail.load(std::memory_order_acquire);
    if (tail_seen_ == head_) return {nullptr, 0};
  }
  std::uint32_t slot = head_ % fifo_->slots;
  return {fifo_->data + std::size_t{slot} * slot_bytes(), fifo_->sizes[slot], fifo_->tags[slot]};
}

void ShmReceiver::pop() {
  count(fifo_->sizes[head_ % fifo_->slots]);
  fifo_->head.store(++head_, std::memory_order_release);
  sender_->ring();
}

ShmSender::ShmSender(int peer, std::shared_ptr<Doorbell> receiver, std::unique_ptr<Segment> segment)
    : Sender(peer, fifo_in(*segment)->slot_bytes),
      receiver_(std::move(receiver)),
      segment_(std::move(segment)),
      fifo_(fifo_in(*segment_)) {
  if (segment_->size() != segment_size(fifo_->slots, fifo_->slot_bytes)) {
    throw Error(ErrorCode::kInvalid,
                "a peer's FIFO has another layout: do the ranks run different versions?");
  }
}

std::byte* ShmSender::acquire() {
  if (tail_ - head_seen_ == fifo_->slots) {
    head_seen_ = fifo_->head.load(std::memory_order_acquire);
    if (tail_ - head_seen_ == fifo_->slots) return nullptr;
  }
  return fifo_->data + (tail_ % fifo_->slots) * slot_bytes();
}

void ShmSender::post(std::size_t bytes, std::uint32_t tag) {
  fifo_->sizes[tail_ % fifo_->slots] = static_cast<std::uint32_t>(bytes);
  fifo_->tags[tail_ % fifo_->slots] = tag;
  fifo_->tail.store(++tail_, std::memory_order_release);
  count(bytes);
  receiver_->ring();
}

}  // namespace railgauge::shm
