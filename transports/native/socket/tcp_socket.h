// SPDX-License-Identifier: Apache-2.0
// One TCP socket of a connection. It carries its piece of every message, in one direction; the
// first one also the frames (frame.h). One thread drives it: the rank's own, or a helper (pump.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "transports/native/fd.h"
#include "transports/native/health.h"
#include "transports/native/socket/fifo.h"
#include "transports/native/socket/frame.h"

namespace railgauge::socket {

class TcpSocket {
 public:
  // `fd` is a connected socket, number `socket` of `sockets`.
  TcpSocket(Fd fd, std::size_t socket, std::size_t sockets, std::shared_ptr<Health> health);
  virtual ~TcpSocket() = default;

  int fd() const { return fd_.get(); }
  // Moves all that can be moved without blocking; returns whether anything changed.
  virtual bool move() = 0;
  // Whether nothing is left to be moved before closing.
  virtual bool drained() const { return true; }
  bool ended() const { return health_->state() != Health::kSound; }
  // The socket's epoll(7) events.
  virtual void hear(std::uint32_t events) = 0;
  // Another thread may shut it down; the thread that drives it closes it.
  void cut() const;
  void close() { fd_.reset(); }

 protected:
  bool usable() const { return ready_ && fd_.open() && !health_->closing(); }
  // Handles a system call's `result` of <= 0: fails, or waits if it would block. Always returns
  // false.
  bool stopped(long result);

  Fd fd_;
  Striping striping_;
  std::shared_ptr<Health> health_;
  bool first_;
  bool ready_ = true;          // the last call did not block
  std::uint64_t message_ = 0;  // the current one
  std::size_t done_ = 0;       // bytes of it that were moved; of the receiver, behind its frame
  Piece piece_{0, 0};          // of the current message, once `begun_`
  bool begun_ = false;
};

class OutgoingSocket final : public TcpSocket {
 public:
  OutgoingSocket(Fd fd, std::size_t socket, std::size_t sockets, std::shared_ptr<Health> health,
                 OutgoingFifo& fifo)
      : TcpSocket(std::move(fd), socket, sockets, std::move(health)), fifo_(fifo) {}
  bool move() override;
  bool drained() const override { return message_ == fifo_.on(); }
  void hear(std::uint32_t events) override;

 private:
  void begin();
  bool send_some();

  OutgoingFifo& fifo_;
  Frame::Bytes frame_{};
  std::size_t frame_bytes_ = 0;  // of the current message, on this socket
  std::size_t total_ = 0;        // that, its piece and the padding
};

class IncomingSocket final : public TcpSocket {
 public:
  IncomingSocket(Fd fd, std::size_t socket, std::size_t sockets, std::shared_ptr<Health> health,
                 IncomingFifo& fifo)
      : TcpSocket(std::move(fd), socket, sockets, std::move(health)), fifo_(fifo) {}
  bool move() override;
  void hear(std::uint32_t events) override;

 private:
  bool open();
  bool read_frame();
  bool read_some();

  IncomingFifo& fifo_;
  // The first socket reads ahead a little, so that a short message takes one call.
  std::array<std::byte, 4096> ahead_;
  std::size_t ahead_at_ = 0, ahead_end_ = 0;
};

}  // namespace railgauge::socket
