// SPDX-License-Identifier: Apache-2.0
// Hands pieces of memory between the processes of a host: each rank sends its own to all others,
// and takes theirs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "transports/native/clock.h"
#include "transports/native/cuda/virtual_memory.h"
#include "transports/native/error.h"
#include "transports/native/fd_socket.h"

namespace railgauge::gpu {

// Another process's end.
struct PieceOwner {
  std::string name;  // in messages: "the GPU of rank 1 (0000:1b:00.0)"
  FdSocket::Address address;
  cuda::ShareableKind kind;
  std::uint32_t pieces;
};

class PieceExchange {
 public:
  // `owners` by rank; none: it takes no part. run() ends when nothing has moved for the timeout,
  // and calls `look_up` while it waits, which may throw.
  PieceExchange(const FdSocket& socket, int rank, std::vector<std::optional<PieceOwner>> owners,
                double timeout_s, std::function<void()> look_up);

  // The others' pieces, by rank. Whatever fails, everything is sent and taken first, so that no
  // rank waits for one that has given up. Error (kSystem): what failed first; (kTimeout).
  std::vector<std::vector<cuda::MappedPiece>> run(const std::vector<cuda::MappedPiece>& own);

 private:
  struct Arriving {
    std::vector<std::optional<cuda::MappedPiece>> pieces;
    std::uint32_t missing = 0;
  };

  int ranks() const { return static_cast<int>(owners_.size()); }
  // Runs a step; its failure is raised at the end.
  template <class Step>
  void note(const Step& step);
  void send(std::uint32_t number, const cuda::MappedPiece& piece);
  void wait_for(int rank);
  void take(const FdSocket::Received& one);

  const FdSocket& socket_;
  const int rank_;
  const std::vector<std::optional<PieceOwner>> owners_;
  const double timeout_s_;
  const std::function<void()> look_up_;
  std::vector<Arriving> arriving_;
  std::optional<Error> problem_;
  Clock::time_point moved_ = Clock::now();
};

}  // namespace railgauge::gpu
