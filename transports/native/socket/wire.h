// SPDX-License-Identifier: Apache-2.0
// One TCP socket and the FIFO behind it, as the proxy's thread moves them. A message travels as
//
//   | magic, 4 bytes | length, 4 bytes | payload |      integers in network order
//
// in one direction only; anything else ends the connection. The receiving proxy reads when it has a
// free slot, so TCP's window holds a sender back: what is under way is the slots and the kernel's
// buffers of this connection, and a full one holds no other up, since each has a socket of its own.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "transports/native/socket/fd.h"
#include "transports/native/socket/fifo.h"

namespace railgauge::socket {

inline constexpr std::uint32_t kMagic = 0x52474430;  // "RGD0"
using Header = std::array<std::byte, 8>;

class Wire {
  Fd fd_;  // the first member: closed whatever else the constructor finds

 public:
  // Takes over the connected socket `fd`; `address` is the peer's, for messages.
  Wire(int fd, int peer, std::string address, std::uint32_t slots, std::uint32_t slot_bytes);
  virtual ~Wire() = default;

  Fifo& fifo() { return fifo_; }
  int peer() const { return peer_; }
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // Throws PeerLost with what ended the connection; for when failed().
  [[noreturn]] void raise() const;

  // For the proxy's thread only, from here on.
  int fd() const { return fd_.get(); }
  bool open() const { return fd_.open(); }
  void close() { fd_.reset(); }
  // Moves what one system call takes; whether anything changed.
  virtual bool progress() = 0;
  // The peer has closed its end.
  virtual void hung_up() = 0;
  // Nothing is left that has to be moved before closing.
  virtual bool drained() const = 0;

 protected:
  // Ends the connection; the rank that waits on it is told.
  void fail(const std::string& why);
  // What a system call's `result` of <= 0 means: fails, or waits when it would block. False always.
  bool stopped(long result);

  Fifo fifo_;
  Header header_{};
  std::size_t done_ = 0;  // bytes of the current message, with its header, that have been moved

 private:
  int peer_;
  std::string address_;
  std::string failure_;
  std::atomic<bool> failed_{false};
};

class OutgoingWire final : public Wire {
 public:
  using Wire::Wire;
  bool progress() override;
  void hung_up() override;
  bool drained() const override { return fifo_.oldest().data == nullptr; }
};

class IncomingWire final : public Wire {
 public:
  using Wire::Wire;
  bool progress() override;
  void hung_up() override {}  // data may be before it; reading finds the end
  bool drained() const override { return true; }

 private:
  bool read_header();
  bool read_payload(std::byte* slot);
  bool accept_header();

  std::size_t length_ = 0;
};

}  // namespace railgauge::socket
