// SPDX-License-Identifier: Apache-2.0
// The contract of every transport: a connection is a one-way FIFO of slots between two ranks, with
// a Sender at one end and a Receiver at the other. Nothing here blocks: acquire() and front()
// answer "not yet" and the caller polls again after its doorbell rang (executor.h waits for all
// channels).
//
//   Sender                                    Receiver
//   acquire() -> a free slot, or null         front() -> the oldest message, or null
//   fill it                                   read it
//   post(n)   -> n bytes are on their way     pop()   -> its slot is free again
//
// A transport that copies by itself (a socket, an RDMA device) can do so from and to the caller's
// memory, which saves a copy at either end: lend() in place of filling a slot, prefer() before
// front(). Others ignore these calls. Lent memory is in use until the rank's Attendant (doorbell.h)
// has settled. If the receiver has registered memory for the sender, put() writes a message to an
// offset in it that the sender chooses: front() finds it there, and pop() leaves it there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "transports/native/error.h"

namespace railgauge {

// One end of a connection; `bytes()` counts what this object itself has moved.
class Connection {
 public:
  Connection(int peer, std::size_t slot_bytes) : peer_(peer), slot_bytes_(slot_bytes) {}
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The transport as NCCL's log names it: "SHM", "NET/Socket/0", "P2P/IPC", ...
  virtual std::string via() const = 0;
  int peer() const { return peer_; }
  std::size_t slot_bytes() const { return slot_bytes_; }
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 protected:
  // For the one thread that moves data; others may read bytes() meanwhile.
  void count(std::size_t bytes) { bytes_.store(this->bytes() + bytes, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> bytes_{0};
  int peer_;  // the rank at the other end
  std::size_t slot_bytes_;
};

class Sender : public Connection {
 public:
  using Connection::Connection;
  // The next slot (slot_bytes() long, 64-byte aligned), or nullptr while all are in use. Asking
  // again before post() gives the same slot.
  virtual std::byte* acquire() = 0;
  // Sends the first `bytes` of the acquired slot; `tag` travels with them.
  virtual void post(std::size_t bytes, std::uint32_t tag = 0) = 0;
  // Sends `bytes`, at most a slot's, from the caller's memory; after acquire() gave a slot, which
  // is not filled then.
  virtual void lend(const std::byte* data, std::size_t bytes, std::uint32_t tag = 0) {
    std::memcpy(acquire(), data, bytes);
    post(bytes, tag);
  }
  // Whether lend() reads that memory later, and so does without a copy.
  virtual bool borrows(const std::byte* data, std::size_t bytes) const {
    return static_cast<void>(data), static_cast<void>(bytes), false;
  }
  // Whether the receiver has registered memory for the sender.
  virtual bool aims() const { return false; }
  // Sends `bytes` into that memory, to offset `at`, from memory that is registered; after acquire()
  // returned a slot, which is not used then. The memory is lent.
  virtual void put(const std::byte* data, std::size_t bytes, std::size_t at, std::uint32_t tag) {
    static_cast<void>(data), static_cast<void>(bytes), static_cast<void>(at);
    throw Error(ErrorCode::kInvalid,
                via() + " has no registered memory (tag " + std::to_string(tag) + ")");
  }
};

struct Message {
  const std::byte* data;  // nullptr: nothing has arrived
  std::size_t bytes;
  std::uint32_t tag = 0;  // what the sender gave to post()
};

class Receiver : public Connection {
 public:
  using Connection::Connection;
  // The oldest message that was not popped; data stays valid until pop().
  virtual Message front() = 0;
  virtual void pop() = 0;
  // Where the message that front() returns next may be put, if it has `bytes`: it is there if
  // front() returns this address, and elsewhere if not. `place` must stay valid until then.
  virtual void prefer(std::byte* place, std::size_t bytes) {
    static_cast<void>(place), static_cast<void>(bytes);
  }
};

}  // namespace railgauge
