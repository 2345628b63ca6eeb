// SPDX-License-Identifier: Apache-2.0
#include "transports/native/fd_socket.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "transports/native/error.h"

namespace railgauge {

namespace {

struct Datagram {
  std::array<unsigned char, 16> key;
  FdSocket::Label label;
};

// Room for a descriptor and the sender's credentials.
union Control {
  cmsghdr aligned;
  char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(ucred))];
};

// "\0railgauge-" and the name in hexadecimal digits, as /proc/net/unix shows it.
struct AbstractName {
  explicit AbstractName(const FdSocket::Address& address) {
    static constexpr char kPrefix[] = "\0railgauge-", kDigits[] = "0123456789abcdef";
    std::memcpy(at.sun_path, kPrefix, sizeof kPrefix - 1);
    char* end = at.sun_path + sizeof kPrefix - 1;
    for (const unsigned char byte : address.name) {
      *end++ = kDigits[byte >> 4];
      *end++ = kDigits[byte & 15];
    }
    length = static_cast<socklen_t>(end - reinterpret_cast<char*>(&at));
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&at); }

  sockaddr_un at{AF_UNIX, {}};
  socklen_t length;
};

}  // namespace

FdSocket::FdSocket() : socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  if (getrandom(&address_, sizeof address_, 0) != static_cast<ssize_t>(sizeof address_))
    throw system_error("getrandom");
  const AbstractName name(address_);
  const int on = 1;
  if (!socket_.open() || setsockopt(socket_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) ||
      bind(socket_.get(), name.get(), name.length)) {
    throw system_error("making a socket for descriptors");
  }
}

bool FdSocket::send(const Address& to, const Label& label, const Fd& fd) const {
  const AbstractName name(to);
  Datagram datagram{to.key, label};
  iovec data{&datagram, sizeof datagram};
  Control control{};
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(name.get());
  message.msg_namelen = name.length;
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (fd.open()) {
    const int number = fd.get();
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(sizeof number);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof number);
    std::memcpy(CMSG_DATA(header), &number, sizeof number);
  }
  if (sendmsg(socket_.get(), &message, MSG_NOSIGNAL) >= 0) return true;
  // Besides a full socket: too many descriptors are under way (unix(7), ETOOMANYREFS).
  if (errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS || errno == EINTR) return false;
  throw system_error("sending a descriptor");
}

std::optional<FdSocket::Received> FdSocket::receive() const {
  while (true) {
    Datagram datagram{};
    iovec data{&datagram, sizeof datagram};
    Control control{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    const ssize_t got = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {};
    std::optional<Fd> fd;
    bool ours = false;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header;
         header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET) continue;
      if (header->cmsg_type == SCM_RIGHTS) {
        for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= header->cmsg_len;
             at += sizeof(int)) {
          int number;
          std::memcpy(&number, CMSG_DATA(header) + at, sizeof number);
          fd.emplace(number);
        }
      } else if (header->cmsg_type == SCM_CREDENTIALS) {
        ucred sender;
        std::memcpy(&sender, CMSG_DATA(header), sizeof sender);
        ours = sender.uid == getuid();  // unix(7): the sender's real one
      }
    }
    if (ours && got == sizeof datagram && !(message.msg_flags & MSG_TRUNC) &&
        datagram.key == address_.key) {
      return Received{datagram.label, fd ? std::move(*fd) : Fd(-1)};
    }
  }
}

void FdSocket::wait(int most_ms) const {
  pollfd polled{socket_.get(), POLLIN, 0};
  poll(&polled, 1, most_ms);
}

}  // namespace railgauge
