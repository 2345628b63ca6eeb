// SPDX-License-Identifier: Apache-2.0
// Data sockets between ranks that have a rendezvous alone: a rank listens, tells the others where
// and a random token, and takes the connections that begin with it. (Ranks of a Python job prove a
// job secret instead: transports/data_listener.py.)
//
//   | token, 16 bytes | channel, 4 bytes | from rank, 4 bytes | to rank, 4 bytes |   network order
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "transports/native/fd.h"

namespace railgauge::socket {

// Channel, from rank, to rank.
using SocketName = std::tuple<int, int, int>;

class Arrivals {
 public:
  // Listens at a free port of this host's IP address. Throws Error(kSystem) if it cannot,
  // Error(kInvalid) if this is no address.
  explicit Arrivals(const std::string& address);
  // Where, for open_socket(): "address port token".
  std::string told() const;
  // Waits for one connection of each name. Others are dropped. Throws PeerLost if one does not come
  // until then.
  std::map<SocketName, Fd> take(std::map<SocketName, int> expected,
                                std::chrono::steady_clock::time_point until);

  using Token = std::array<unsigned char, 16>;

 private:
  struct Stranger;
  bool read(Stranger& stranger) const;

  std::string address_;
  int port_ = 0;
  Token token_;
  Fd listener_;
};

// Connects from this host's `address` to where a rank listens. Throws PeerLost.
Fd open_socket(const SocketName& name, const std::string& told, const std::string& address,
               std::chrono::steady_clock::time_point until);

// Where the other end is: "10.0.0.2 port 4711".
std::string peer_address(const Fd& fd);

// The kernel gives the peer up that acknowledges nothing for this long.
void set_options(const Fd& fd, std::chrono::nanoseconds timeout);

}  // namespace railgauge::socket
