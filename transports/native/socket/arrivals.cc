// SPDX-License-Identifier: Apache-2.0
#include "transports/native/socket/arrivals.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <list>
#include <sstream>
#include <vector>

#include "transports/native/error.h"

namespace railgauge::socket {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kMostStrangers = 1024;  // connections that have not said who they are
constexpr std::chrono::seconds kSilence{10};  // until they are dropped
constexpr std::chrono::milliseconds kPause{100};
constexpr int kProbes = 3, kMostSeconds = 32767;  // of tcp(7)'s keepalive times

struct Greeting {
  Arrivals::Token token;
  std::uint32_t channel, from, to;
};
static_assert(sizeof(Greeting) == 28);

std::string hex_of(const Arrivals::Token& token) {
  std::string text;
  for (unsigned char byte : token) {
    for (int nibble : {byte >> 4, byte & 15}) text += "0123456789abcdef"[nibble];
  }
  return text;
}

// False: this is no token.
bool token_of(const std::string& text, Arrivals::Token& token) {
  if (text.size() != 2 * token.size()) return false;
  for (std::size_t i = 0; i < token.size(); ++i) {
    char* end = nullptr;
    const std::string byte = text.substr(2 * i, 2);
    token[i] = static_cast<unsigned char>(std::strtoul(byte.c_str(), &end, 16));
    if (*end != 0) return false;
  }
  return true;
}

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress address_of(const std::string& address, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    throw Error(ErrorCode::kInvalid, "not an IP address: '" + address + "'");
  }
  SocketAddress made;
  made.length = found->ai_addrlen;
  std::memcpy(&made.storage, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return made;
}

int milliseconds_until(SteadyClock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - SteadyClock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX));
}

// Waits for a socket that connects; false: it did not.
bool connects(const Fd& fd, SteadyClock::time_point until) {
  pollfd one{fd.get(), POLLOUT, 0};
  if (poll(&one, 1, milliseconds_until(until)) <= 0) {
    errno = ETIMEDOUT;
    return false;
  }
  socklen_t length = sizeof errno;
  return getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &errno, &length) == 0 && errno == 0;
}

}  // namespace

struct Arrivals::Stranger {
  Fd fd;
  SteadyClock::time_point since = SteadyClock::now();
  Greeting greeting{};
  std::size_t got = 0;
  bool ended = false;

  bool complete() const { return got == sizeof greeting; }
  SocketName name() const {
    return {static_cast<int>(ntohl(greeting.channel)), static_cast<int>(ntohl(greeting.from)),
            static_cast<int>(ntohl(greeting.to))};
  }
};

Arrivals::Arrivals(const std::string& address)
    : address_(address),
      listener_(::socket(address_of(address, 0).storage.ss_family,
                         SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  SocketAddress at = address_of(address, 0);
  socklen_t length = sizeof at.storage;
  if (!listener_.open() || bind(listener_.get(), at.get(), at.length) != 0 ||
      listen(listener_.get(), SOMAXCONN) != 0 ||
      getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&at.storage), &length) != 0) {
    throw system_error("listening at " + address);
  }
  port_ = ntohs(at.storage.ss_family == AF_INET6
                    ? reinterpret_cast<const sockaddr_in6&>(at.storage).sin6_port
                    : reinterpret_cast<const sockaddr_in&>(at.storage).sin_port);
  if (getrandom(token_.data(), token_.size(), 0) != static_cast<ssize_t>(token_.size())) {
    throw system_error("getrandom");
  }
}

std::string Arrivals::told() const {
  return address_ + ' ' + std::to_string(port_) + ' ' + hex_of(token_);
}

// Whether it has said all.
bool Arrivals::read(Stranger& stranger) const {
  auto* into = reinterpret_cast<std::byte*>(&stranger.greeting) + stranger.got;
  const ssize_t got =
      recv(stranger.fd.get(), into, sizeof stranger.greeting - stranger.got, MSG_DONTWAIT);
  if (got > 0) stranger.got += static_cast<std::size_t>(got);
  stranger.ended = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  return stranger.complete();
}

std::map<SocketName, Fd> Arrivals::take(std::map<SocketName, int> expected,
                                        SteadyClock::time_point until) {
  std::map<SocketName, Fd> taken;
  std::list<Stranger> strangers;
  while (!expected.empty()) {
    std::vector<pollfd> watched{{listener_.get(), POLLIN, 0}};
    for (const Stranger& one : strangers) watched.push_back({one.fd.get(), POLLIN, 0});
    const auto now = SteadyClock::now();
    if (now >= until) {
      const int rank = expected.begin()->second;
      throw PeerLost("rank " + std::to_string(rank) + " did not connect to " + address_ +
                         " in time: a firewall between the hosts, or another network's address?",
                     rank);
    }
    poll(watched.data(), watched.size(), milliseconds_until(std::min(until, now + kPause)));
    for (Stranger& one : strangers) {
      if (!read(one)) continue;
      one.ended = true;
      const bool proved = one.greeting.token == token_;
      if (proved && expected.erase(one.name()) > 0) taken.emplace(one.name(), std::move(one.fd));
    }
    std::erase_if(strangers,
                  [&](const Stranger& one) { return one.ended || now - one.since > kSilence; });
    while (strangers.size() < kMostStrangers) {
      Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!fd.open()) break;
      strangers.push_back({std::move(fd)});
    }
  }
  return taken;
}

Fd open_socket(const SocketName& name, const std::string& told, const std::string& address,
               SteadyClock::time_point until) {
  const auto [channel, from, to] = name;
  std::istringstream text(told);
  std::string host, token;
  int port = 0;
  Greeting greeting{{},
                    htonl(static_cast<std::uint32_t>(channel)),
                    htonl(static_cast<std::uint32_t>(from)),
                    htonl(static_cast<std::uint32_t>(to))};
  if (!(text >> host >> port >> token) || !token_of(token, greeting.token)) {
    throw Error(ErrorCode::kMismatch, "rank " + std::to_string(to) + " offers no socket");
  }
  const SocketAddress there = address_of(host, port), here = address_of(address, 0);
  Fd fd(::socket(there.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.open()) throw system_error("socket");
  if (here.storage.ss_family == there.storage.ss_family &&
      bind(fd.get(), here.get(), here.length) != 0) {
    throw system_error("connecting from " + address);
  }
  const bool begun = connect(fd.get(), there.get(), there.length) == 0 || errno == EINPROGRESS;
  if (begun && connects(fd, until) &&
      send(fd.get(), &greeting, sizeof greeting, MSG_NOSIGNAL) == sizeof greeting) {
    return fd;
  }
  throw PeerLost("rank " + std::to_string(to) + " at " + host + " port " + std::to_string(port) +
                     " cannot be reached from " + address + ": " + std::strerror(errno),
                 to);
}

std::string peer_address(const Fd& fd) {
  SocketAddress there;
  there.length = sizeof there.storage;
  char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
  if (getpeername(fd.get(), reinterpret_cast<sockaddr*>(&there.storage), &there.length) == 0) {
    getnameinfo(there.get(), there.length, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
  }
  return std::string(host) + " port " + port;
}

void set_options(const Fd& fd, std::chrono::nanoseconds timeout) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  const int probe =
      static_cast<int>(std::clamp<std::int64_t>(ms / 1000 / (kProbes + 1), 1, kMostSeconds));
  const std::pair<int, int> options[] = {
      {TCP_NODELAY, 1},
      {TCP_USER_TIMEOUT, static_cast<int>(std::clamp<std::int64_t>(ms, 1, INT_MAX))},
      {TCP_KEEPIDLE, probe},
      {TCP_KEEPINTVL, probe},
      {TCP_KEEPCNT, kProbes}};
  const int on = 1;
  bool set = setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on) == 0;
  for (const auto& [option, value] : options) {
    set = setsockopt(fd.get(), IPPROTO_TCP, option, &value, sizeof value) == 0 && set;
  }
  if (!set) throw system_error("setting up a connection");
}

}  // namespace railgauge::socket
