// SPDX-License-Identifier: Apache-2.0
#include "transports/native/socket/wire.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "transports/native/error.h"

namespace railgauge::socket {

namespace {

Header header_of(std::size_t bytes) {
  std::uint32_t words[2] = {htonl(kMagic), htonl(static_cast<std::uint32_t>(bytes))};
  Header header;
  std::memcpy(header.data(), words, header.size());
  return header;
}

iovec rest_of(const void* data, std::size_t bytes, std::size_t done) {
  std::size_t skip = done < bytes ? done : bytes;
  return {const_cast<std::byte*>(static_cast<const std::byte*>(data)) + skip, bytes - skip};
}

}  // namespace

Wire::Wire(int fd, int peer, std::string address, std::uint32_t slots, std::uint32_t slot_bytes)
    : fd_(fd), fifo_(slots, slot_bytes), peer_(peer), address_(std::move(address)) {
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    throw system_error("preparing the connection with rank " + std::to_string(peer));
  }
}

void Wire::raise() const {
  throw PeerLost("rank " + std::to_string(peer_) + " at " + address_ + ": " + failure_, peer_);
}

void Wire::fail(const std::string& why) {
  close();
  failure_ = why;
  failed_.store(true, std::memory_order_release);
}

bool Wire::stopped(long result) {
  if (result == 0) {
    fail(done_ > 0 ? "it closed the connection in the middle of a message"
                   : "it closed the connection: its process ended?");
  } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
    fail(std::string("the connection broke: ") + std::strerror(errno));
  }
  return false;
}

bool OutgoingWire::progress() {
  Message message = fifo_.oldest();
  if (message.data == nullptr) return false;
  if (done_ == 0) header_ = header_of(message.bytes);
  std::size_t payload_done = done_ < header_.size() ? 0 : done_ - header_.size();
  iovec parts[2] = {rest_of(header_.data(), header_.size(), done_),
                    rest_of(message.data, message.bytes, payload_done)};
  msghdr call{};
  call.msg_iov = parts;
  call.msg_iovlen = 2;
  ssize_t sent = sendmsg(fd(), &call, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent <= 0) return stopped(sent);
  done_ += static_cast<std::size_t>(sent);
  if (done_ == header_.size() + message.bytes) {
    done_ = 0;
    fifo_.pop();
  }
  return true;
}

void OutgoingWire::hung_up() {
  if (open()) fail("it closed the connection: its process ended?");
}

bool IncomingWire::progress() {
  std::byte* slot = fifo_.vacant();
  if (slot == nullptr) return false;
  return done_ < header_.size() ? read_header() : read_payload(slot);
}

bool IncomingWire::read_header() {
  ssize_t got = recv(fd(), header_.data() + done_, header_.size() - done_, MSG_DONTWAIT);
  if (got <= 0) return stopped(got);
  done_ += static_cast<std::size_t>(got);
  return done_ < header_.size() || accept_header();
}

bool IncomingWire::accept_header() {
  std::uint32_t words[2];
  std::memcpy(words, header_.data(), header_.size());
  length_ = ntohl(words[1]);
  if (ntohl(words[0]) != kMagic || length_ > fifo_.slot_bytes()) {
    fail("it sent what is no message: ranks of two versions?");
    return false;
  }
  if (length_ == 0) {
    done_ = 0;
    fifo_.push(0);
  }
  return true;
}

bool IncomingWire::read_payload(std::byte* slot) {
  std::size_t at = done_ - header_.size();
  ssize_t got = recv(fd(), slot + at, length_ - at, MSG_DONTWAIT);
  if (got <= 0) return stopped(got);
  done_ += static_cast<std::size_t>(got);
  if (done_ == header_.size() + length_) {
    done_ = 0;
    fifo_.push(length_);
  }
  return true;
}

}  // namespace railgauge::socket
