// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/pairs.h"

#include <algorithm>
#include <cstring>

#include "collectives/native/primitives.h"

namespace railgauge {

namespace {

Primitives moves_on(Receiver* from, Sender* to, std::uint32_t tag) {
  return {.previous = from,
          .next = to,
          .reduction = nullptr,
          .element_bytes = 1,
          .stream = false,
          .tag = tag};
}

}  // namespace

Task send_all(Sender& to, const std::byte* source, std::size_t bytes, std::uint32_t tag) {
  Primitives moves = moves_on(nullptr, &to, tag);
  std::size_t at = 0;
  do {
    const std::size_t some = std::min(to.slot_bytes(), bytes - at);
    co_await moves.send(source + at, some);
    at += some;
  } while (at < bytes);
}

Task recv_all(Receiver& from, std::byte* destination, std::size_t bytes, std::uint32_t tag) {
  Primitives moves = moves_on(&from, nullptr, tag);
  std::size_t at = 0;
  do {
    const std::size_t some = std::min(from.slot_bytes(), bytes - at);
    co_await moves.recv(destination + at, some);
    at += some;
  } while (at < bytes);
}

std::vector<Task> exchange(const std::vector<Pair>& pairs, const std::byte* source,
                           const std::vector<Part>& to, std::byte* destination,
                           const std::vector<Part>& from, std::size_t element, std::uint32_t tag,
                           bool empty_too) {
  std::vector<Task> tasks;
  for (std::size_t peer = 0; peer < pairs.size(); ++peer) {
    const Part &out = to[peer], &in = from[peer];
    const std::byte* give = source + out.offset * element;
    std::byte* take = destination + in.offset * element;
    if (!pairs[peer].to) {
      if (give != take && in.count) std::memmove(take, give, in.count * element);
      continue;
    }
    if (out.count || empty_too) {
      tasks.push_back(send_all(*pairs[peer].to, give, out.count * element, tag));
    }
    if (in.count || empty_too) {
      tasks.push_back(recv_all(*pairs[peer].from, take, in.count * element, tag));
    }
  }
  return tasks;
}

void parts_of(const Operation& operation, int rank, int ranks, std::vector<Part>& to,
              std::vector<Part>& from) {
  const std::size_t count = operation.count;
  to.assign(ranks, {0, 0});
  from.assign(ranks, {0, 0});
  for (int peer = 0; peer < ranks; ++peer) {
    const std::size_t part = peer * count;
    const bool root = rank == operation.root, to_root = peer == operation.root;
    switch (operation.collective) {
      case Collective::kAllToAll:
        to[peer] = from[peer] = {part, count};
        break;
      case Collective::kGather:
        if (to_root) to[peer] = {0, count};
        if (root) from[peer] = {part, count};
        break;
      case Collective::kScatter:
        if (root) to[peer] = {part, count};
        if (to_root) from[peer] = {0, count};
        break;
      default:  // send-receive
        if (peer == (rank + 1) % ranks) to[peer] = {0, count};
        if (peer == (rank + ranks - 1) % ranks) from[peer] = {0, count};
    }
  }
}

}  // namespace railgauge
