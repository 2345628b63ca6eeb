// SPDX-License-Identifier: Apache-2.0
// What goes before a message on the first socket of a connection, and how the message is cut up
// over all of them.
//
//   | magic, 4 bytes | tag, 4 bytes | length, 4 bytes | 0, 4 bytes |      integers in network order
//
// Zeros behind every piece fill it up to a multiple of 16 bytes, so that what the kernel copies is
// aligned in its pages as it is in memory: an AMD core takes three times as long for other copies
// (256 KiB behind 12 bytes: 3 times; behind 16, 24 or 64 bytes: as long as behind none; Zen 4).
#pragma once

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace railgauge::socket {

inline constexpr std::size_t kAlignment = 16;
inline constexpr std::uint32_t kMagic = 0x52474432;  // "RGD2"

struct Frame {
  static constexpr std::size_t kBytes = kAlignment;
  using Bytes = std::array<std::byte, kBytes>;

  std::uint32_t magic, tag, length;

  Bytes packed() const {
    std::uint32_t words[] = {htonl(magic), htonl(tag), htonl(length), 0};
    Bytes bytes;
    std::memcpy(bytes.data(), words, kBytes);
    return bytes;
  }
  static Frame unpacked(const std::byte* bytes) {
    std::uint32_t words[3];
    std::memcpy(words, bytes, sizeof words);
    return {ntohl(words[0]), ntohl(words[1]), ntohl(words[2])};
  }
};

// Up to the next multiple of 16.
inline std::size_t padding_of(std::size_t bytes) {
  return (kAlignment - bytes % kAlignment) % kAlignment;
}

struct Piece {
  std::size_t offset, bytes;

  std::size_t padding() const { return padding_of(bytes); }
};

// NCCL's rule (ncclNetSocketTest in net_socket.cc): as many equal pieces as there are sockets, but
// none smaller than 64 KiB, each on the socket after that of the piece before it; ours begin at
// multiples of 16 bytes. Both ends follow it, so that only the length has to be sent.
class Striping {
 public:
  Striping(std::size_t socket, std::size_t sockets) : socket_(socket), sockets_(sockets) {}

  // The piece of the next message of `length` for this socket.
  Piece next(std::size_t length) {
    const std::size_t share = (length + sockets_ - 1) / sockets_;
    const std::size_t size = std::max(kLeast, share + padding_of(share));
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
