// SPDX-License-Identifier: Apache-2.0
// Point to point: a rank's two connections with every other, and the transfers over them.
// Collectives of sends and receives between pairs run over these if the ranks are on several hosts.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "collectives/native/executor.h"
#include "collectives/native/operation.h"
#include "transports/native/transport.h"

namespace railgauge {

struct Pair {
  std::shared_ptr<Sender> to;  // null for this rank itself
  std::shared_ptr<Receiver> from;
};

// The data to one rank, or from it.
struct Part {
  std::size_t offset, count;  // elements
};

// Sends and receives `bytes`, slot by slot; for no bytes an empty message.
Task send_all(Sender& to, const std::byte* source, std::size_t bytes, std::uint32_t tag);
Task recv_all(Receiver& from, std::byte* destination, std::size_t bytes, std::uint32_t tag);

// The tasks that send parts of `source` and receive parts of `destination`, one of each for every
// rank; this rank's own part is copied. `empty_too`: empty parts are sent as well, since only the
// two ranks know that they are empty, and may disagree.
std::vector<Task> exchange(const std::vector<Pair>& pairs, const std::byte* source,
                           const std::vector<Part>& to, std::byte* destination,
                           const std::vector<Part>& from, std::size_t element, std::uint32_t tag,
                           bool empty_too);

// Which parts of source and destination an all-to-all, gather, scatter or send-receive moves.
void parts_of(const Operation& operation, int rank, int ranks, std::vector<Part>& to,
              std::vector<Part>& from);

}  // namespace railgauge
