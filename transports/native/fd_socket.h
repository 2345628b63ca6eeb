// SPDX-License-Identifier: Apache-2.0
// Hands file descriptors to other processes of this host, over datagram sockets whose names are
// drawn and in no file system (unix(7): abstract names). Processes that share a network namespace
// reach each other; other rights, or a common pid namespace, are not needed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "transports/native/fd.h"

namespace railgauge {

class FdSocket {
 public:
  // Of a socket; who knows the key may send to it.
  struct Address {
    std::array<unsigned char, 16> name, key;
  };
  // What a descriptor is, as the sender says.
  struct Label {
    std::uint32_t from, number;
    std::uint64_t bytes;
  };
  struct Received {
    Label label;
    Fd fd;  // not open: the sender has none
  };

  // Error (kSystem): there can be none.
  FdSocket();

  const Address& address() const { return address_; }
  // Sends a descriptor, which this process may close then; false: try later, the socket there is
  // full. Error (kSystem): nobody has that address.
  bool send(const Address& to, const Label& label, const Fd& fd) const;
  // What has arrived from processes of this user; data without the key is dropped.
  std::optional<Received> receive() const;
  // Returns when something has arrived, or after some milliseconds.
  void wait(int most_ms) const;

 private:
  Fd socket_;
  Address address_;
};

}  // namespace railgauge
