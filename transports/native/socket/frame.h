// SPDX-License-Identifier: Apache-2.0
// What goes before a message on the first socket of a connection, and how the message is cut up
// over all of them.
//
//   | magic, 4 bytes | tag, 4 bytes | length, 4 bytes |      integers in network order
#pragma once

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace railgauge::socket {

inline constexpr std::uint32_t kMagic = 0x52474431;  // "RGD1"

struct Frame {
  static constexpr std::size_t kBytes = 12;
  using Bytes = std::array<std::byte, kBytes>;

  std::uint32_t magic, tag, length;

  Bytes packed() const {
    std::uint32_t words[] = {htonl(magic), htonl(tag), htonl(length)};
    Bytes bytes;
    std::memcpy(bytes.data(), words, kBytes);
    return bytes;
  }
  static Frame unpacked(const std::byte* bytes) {
    std::uint32_t words[3];
    std::memcpy(words, bytes, kBytes);
    return {ntohl(words[0]), ntohl(words[1]), ntohl(words[2])};
  }
};

struct Piece {
  std::size_t offset, bytes;
};

// NCCL's rule (ncclNetSocketTest in net_socket.cc): as many equal pieces as there are sockets, but
// none smaller than 64 KiB, each on the socket after that of the piece before it. Both ends follow
// it, so that only the length has to be sent.
class Striping {
 public:
  Striping(std::size_t socket, std::size_t sockets) : socket_(socket), sockets_(sockets) {}

  // The piece of the next message of `length` for this socket.
  Piece next(std::size_t length) {
    const std::size_t size = std::max(kLeast, (length + sockets_ - 1) / sockets_);
    const std::size_t offset = std::min(length, (socket_ + sockets_ - first_) % sockets_ * size);
    first_ = (first_ + (length + size - 1) / size) % sockets_;
    return {offset, std::min(size, length - offset)};
  }

 private:
  static constexpr std::size_t kLeast = 64 << 10;
  std::size_t socket_, sockets_;
  std::size_t first_ = 0;  // the socket of the next message's first piece
};

}  // namespace railgauge::socket
