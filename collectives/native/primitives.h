// SPDX-License-Identifier: Apache-2.0
// The steps on a channel's connections, each awaited by an algorithm:
//
//   send                source -> next
//   recv                previous -> destination
//   recv_copy_send      previous -> destination and next
//   recv_reduce_send    previous op source -> next
//   recv_reduce_copy    previous op source -> destination; it ends a reduction
//   recv_reduce_copy_send  previous op source -> destination and next; it ends a reduction
// A step moves at most one slot. With two targets the data is read once, and written to both.
#pragma once

#include <algorithm>
#include <cstring>

#include "collectives/native/executor.h"
#include "collectives/native/reduction.h"
#include "transports/native/error.h"
#include "transports/native/transport.h"

namespace railgauge {

// What all steps of one operation on one channel share.
struct Primitives {
  Receiver* previous;
  Sender* next;
  const Reduction* reduction;
  std::size_t element_bytes;
  bool stream;        // write destinations past the caches
  std::uint32_t tag;  // the operation's: tag_of() its subject

  enum Kind { kSend, kRecv, kRecvCopySend, kRecvReduceSend, kRecvReduceCopy, kRecvReduceCopySend };

  template <Kind kind>
  class Move;

  Move<kSend> send(const std::byte* source, std::size_t count) const;
  Move<kRecv> recv(std::byte* destination, std::size_t count) const;
  Move<kRecvCopySend> recv_copy_send(std::byte* destination, std::size_t count) const;
  Move<kRecvReduceSend> recv_reduce_send(const std::byte* source, std::size_t count) const;
  Move<kRecvReduceCopy> recv_reduce_copy(const std::byte* source, std::byte* destination,
                                         std::size_t count) const;
  Move<kRecvReduceCopySend> recv_reduce_copy_send(const std::byte* source, std::byte* destination,
                                                  std::size_t count) const;

  void copy(std::byte* out, const std::byte* in, std::size_t bytes) const {
    stream ? stream_copy(out, in, bytes) : static_cast<void>(std::memcpy(out, in, bytes));
  }
  // `also` is written past no cache.
  void copy_twice(void* out, void* also, const void* in, std::size_t bytes) const {
    combine_all(Dtype::kUint8, Redop::kSum)(out, also, &in, 1, bytes, 0, stream);
  }
  // All ranks run the same plan, so a message of another operation or size means that they were
  // called differently.
  static void expect(const Receiver& from, const Message& message, std::size_t bytes,
                     std::uint32_t tag) {
    if (message.tag != tag) {
      throw Error(ErrorCode::kMismatch,
                  "rank " + std::to_string(from.peer()) +
                      " sent data of another operation than the one of this rank");
    }
    if (message.bytes == bytes) return;
    throw Error(ErrorCode::kMismatch,
                "rank " + std::to_string(from.peer()) + " sent " + std::to_string(message.bytes) +
                    " bytes where " + std::to_string(bytes) +
                    " were expected: were the ranks called with different counts or types?");
  }
};

template <Primitives::Kind kind>
class Primitives::Move final : public Wait {
 public:
  Move(const Primitives& moves, const std::byte* source, std::byte* destination, std::size_t count)
      : primitives_(moves), source_(source), destination_(destination), count_(count) {}

  bool ready() override {
    if constexpr (kReceives) {
      if (message_.data == nullptr) message_ = primitives_.previous->front();
      if (message_.data == nullptr) return false;
    }
    if constexpr (kSends) {
      slot_ = primitives_.next->acquire();
      if (slot_ == nullptr) return false;
    }
    return true;
  }

  BlockedOn blocked_on() const override {
    if (kReceives && message_.data == nullptr) return {primitives_.previous->peer(), 0};
    return {primitives_.next->peer(), 1};
  }

  bool await_ready() {
    if constexpr (kKeeps) primitives_.previous->prefer(destination_, bytes());
    return false;
  }
  bool await_suspend(Task::Handle task) { return task.promise().waits_in(*this); }

  void await_resume() {
    const std::size_t bytes = this->bytes();
    if constexpr (kReceives) expect(*primitives_.previous, message_, bytes, primitives_.tag);
    const void* inputs[] = {message_.data, source_};
    const Reduction* reduction = primitives_.reduction;
    // Data that is at the destination anyway can be forwarded from there.
    const bool lends =
        kDelivers && kSends &&
        (message_.data == destination_ || primitives_.next->borrows(destination_, bytes));
    if constexpr (kind == kRecv) {
      keep(bytes);
    } else if constexpr (kind == kRecvCopySend) {
      lends ? keep(bytes) : primitives_.copy_twice(destination_, slot_, message_.data, bytes);
    } else if constexpr (kind == kRecvReduceSend) {
      reduction->combine(slot_, nullptr, inputs, 2, count_);
    } else if constexpr (kDelivers) {
      reduction->finish(destination_, lends ? nullptr : slot_, inputs, 2, count_,
                        primitives_.stream && !lends);
    }
    if constexpr (kind == kSend) {
      primitives_.next->lend(source_, bytes, primitives_.tag);
    } else if constexpr (kSends) {
      lends ? primitives_.next->lend(destination_, bytes, primitives_.tag)
            : primitives_.next->post(bytes, primitives_.tag);
    }
    if constexpr (kReceives) primitives_.previous->pop();
  }

 private:
  std::size_t bytes() const { return count_ * primitives_.element_bytes; }
  // Copies the message to the destination, unless it arrived there.
  void keep(std::size_t bytes) {
    if (message_.data != destination_) primitives_.copy(destination_, message_.data, bytes);
  }

  static constexpr bool kReceives = kind != kSend;
  static constexpr bool kDelivers = kind != kSend && kind != kRecvReduceSend;
  static constexpr bool kKeeps = kind == kRecv || kind == kRecvCopySend;
  static constexpr bool kSends = kind != kRecv && kind != kRecvReduceCopy;

  const Primitives& primitives_;
  const std::byte* source_;
  std::byte* destination_;
  std::size_t count_;
  Message message_{nullptr, 0};
  std::byte* slot_ = nullptr;
};

inline Primitives::Move<Primitives::kSend> Primitives::send(const std::byte* source,
                                                            std::size_t count) const {
  return {*this, source, nullptr, count};
}
inline Primitives::Move<Primitives::kRecv> Primitives::recv(std::byte* destination,
                                                            std::size_t count) const {
  return {*this, nullptr, destination, count};
}
inline Primitives::Move<Primitives::kRecvCopySend> Primitives::recv_copy_send(
    std::byte* destination, std::size_t count) const {
  return {*this, nullptr, destination, count};
}
inline Primitives::Move<Primitives::kRecvReduceSend> Primitives::recv_reduce_send(
    const std::byte* source, std::size_t count) const {
  return {*this, source, nullptr, count};
}
inline Primitives::Move<Primitives::kRecvReduceCopy> Primitives::recv_reduce_copy(
    const std::byte* source, std::byte* destination, std::size_t count) const {
  return {*this, source, destination, count};
}
inline Primitives::Move<Primitives::kRecvReduceCopySend> Primitives::recv_reduce_copy_send(
    const std::byte* source, std::byte* destination, std::size_t count) const {
  return {*this, source, destination, count};
}

}  // namespace railgauge
