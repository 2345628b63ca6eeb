// SPDX-License-Identifier: Apache-2.0
#include "transports/native/socket/tcp_socket.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>

#include "transports/native/error.h"

namespace railgauge::socket {

namespace {

constexpr std::byte kZeros[kAlignment]{};
constexpr char kClosed[] = "it closed the connection: did its process end?";

}  // namespace

TcpSocket::TcpSocket(Fd fd, std::size_t socket, std::size_t sockets, std::shared_ptr<Health> health)
    : fd_(std::move(fd)),
      striping_(socket, sockets),
      health_(std::move(health)),
      first_(socket == 0) {
  int flags = fcntl(fd_.get(), F_GETFL);
  if (flags < 0 || fcntl(fd_.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
    throw system_error("preparing the connection with rank " + std::to_string(health_->peer()));
  }
}

void TcpSocket::cut() const {
  if (fd_.open()) shutdown(fd_.get(), SHUT_RDWR);
}

bool TcpSocket::stopped(long result) {
  if (result < 0 && errno == EINTR) return false;
  ready_ = false;
  if (health_->closing()) return false;
  if (result == 0) {
    begun_ ? health_->fail(Health::kBroken, "it closed the connection in the middle of a message")
           : health_->fail(Health::kEnded, kClosed);
  } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
    health_->fail(Health::kBroken, std::string("the connection broke: ") + std::strerror(errno));
  }
  return false;
}

void OutgoingSocket::begin() {
  const Entry& entry = fifo_.entry(message_);
  piece_ = striping_.next(entry.bytes);
  frame_bytes_ = first_ ? Frame::kBytes : 0;
  if (first_) frame_ = Frame{kMagic, entry.tag, static_cast<std::uint32_t>(entry.bytes)}.packed();
  total_ = frame_bytes_ + piece_.bytes + piece_.padding();
  done_ = 0;
  begun_ = true;
}

bool OutgoingSocket::move() {
  bool moved = false;
  while (usable() && health_->state() == Health::kSound && message_ < fifo_.on()) {
    if (!begun_) begin();
    if (done_ < total_ && !send_some()) break;
    moved = true;
    if (done_ < total_) continue;
    begun_ = false;
    fifo_.done(message_++);
  }
  return moved;
}

bool OutgoingSocket::send_some() {
  const std::size_t frame = std::min(done_, frame_bytes_);  // of each, what was sent
  const std::size_t payload = std::min(done_ - frame, piece_.bytes);
  const std::size_t padding = done_ - frame - payload;
  iovec parts[] = {{frame_.data() + frame, frame_bytes_ - frame},
                   {fifo_.entry(message_).data + piece_.offset + payload, piece_.bytes - payload},
                   {const_cast<std::byte*>(kZeros), piece_.padding() - padding}};
  msghdr call{};
  call.msg_iov = parts;
  call.msg_iovlen = piece_.padding() > 0 ? 3 : 2;
  ssize_t sent = sendmsg(fd(), &call, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent <= 0) return stopped(sent);
  done_ += static_cast<std::size_t>(sent);
  return true;
}

void OutgoingSocket::hear(std::uint32_t events) {
  if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) ready_ = true;
  if ((events & (EPOLLRDHUP | EPOLLHUP)) && !health_->closing()) {
    health_->fail(Health::kEnded, kClosed);
  }
}

bool IncomingSocket::move() {
  bool moved = false;
  while (begun_ || open()) {
    while (done_ < piece_.bytes + piece_.padding()) {
      if (!read_some()) return moved;
      moved = true;
    }
    begun_ = false;
    fifo_.done(message_++);
    moved = true;
  }
  return moved;
}

// Whether there is a message to go on with.
bool IncomingSocket::open() {
  if (first_ ? !read_frame() : message_ == fifo_.on()) return false;
  piece_ = striping_.next(fifo_.entry(message_).bytes);
  done_ = 0;
  begun_ = true;
  return true;
}

bool IncomingSocket::read_frame() {
  if (!fifo_.has_room()) return false;
  while (ahead_end_ - ahead_at_ < Frame::kBytes) {
    std::memmove(ahead_.data(), ahead_.data() + ahead_at_, ahead_end_ - ahead_at_);
    ahead_end_ -= ahead_at_;
    ahead_at_ = 0;
    if (!usable()) return false;
    ssize_t got = recv(fd(), ahead_.data() + ahead_end_, ahead_.size() - ahead_end_, MSG_DONTWAIT);
    if (got <= 0) {
      begun_ = ahead_end_ > 0;  // for what is said of the end
      stopped(got);
      begun_ = false;
      return false;
    }
    ahead_end_ += static_cast<std::size_t>(got);
  }
  const Frame frame = Frame::unpacked(ahead_.data() + ahead_at_);
  if (frame.magic != kMagic || frame.length > fifo_.slot_bytes()) {
    health_->fail(Health::kBroken,
                  "it sent an invalid message: do the ranks run different versions?");
    return false;
  }
  ahead_at_ += Frame::kBytes;
  fifo_.open(frame.length, frame.tag);
  return true;
}

// Of the piece and its padding, which is dropped.
bool IncomingSocket::read_some() {
  const std::size_t payload = std::min(done_, piece_.bytes);
  const std::size_t rest = piece_.bytes - payload;
  const std::size_t padding = piece_.padding() - (done_ - payload);
  std::byte* into = fifo_.entry(message_).data + piece_.offset + payload;
  if (ahead_at_ < ahead_end_) {
    const std::size_t got = std::min(rest + padding, ahead_end_ - ahead_at_);
    std::memcpy(into, ahead_.data() + ahead_at_, std::min(got, rest));
    ahead_at_ += got;
    done_ += got;
    return true;
  }
  if (!usable()) return false;
  std::byte dropped[kAlignment];
  iovec parts[] = {{into, rest}, {dropped, padding}};
  msghdr call{};
  call.msg_iov = parts;
  call.msg_iovlen = padding > 0 ? 2 : 1;
  ssize_t got = recvmsg(fd(), &call, MSG_DONTWAIT);
  if (got <= 0) return stopped(got);
  done_ += static_cast<std::size_t>(got);
  return true;
}

void IncomingSocket::hear(std::uint32_t events) {
  // The end is behind the data; reading finds it.
  if (events & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP)) ready_ = true;
}

}  // namespace railgauge::socket
