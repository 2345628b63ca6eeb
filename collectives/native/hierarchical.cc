// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/hierarchical.h"

#include <algorithm>
#include <array>

#include "collectives/native/broadcast.h"
#include "collectives/native/turn.h"

namespace railgauge {

namespace {

// What partial results are kept in at a time where the destination has no room for them.
constexpr std::size_t kScratchBytes = 1 << 20;
// All-reduces up to this size go across by doubling; collectives/cost/host_across.py has the same.
constexpr std::size_t kDoublingBytes = 64 << 10;

// A part of the data for each position that takes part across, and the same part of every part at
// a time: piece `at` of a part is its elements [at, at + step).
class Lanes {
 public:
  Lanes(std::size_t count, int lanes, std::size_t element)
      : turn_(0, count, lanes, element), lanes_(lanes) {}

  int lanes() const { return lanes_; }
  std::size_t length() const { return turn_.count(0); }  // of the longest one
  Part part(int lane) const {
    return lane < lanes_ ? Part{turn_.offset(lane), turn_.count(lane)} : Part{0, 0};
  }
  Part piece(int lane, std::size_t at, std::size_t step) const {
    const Part whole = part(lane);
    const std::size_t begin = std::min(at, whole.count);
    return {whole.offset + begin, std::min(step, whole.count - begin)};
  }

 private:
  Turn turn_;
  int lanes_;
};

// Everybody shows all parts; each that takes part reduces its own into `into`.
void reduce_parts(const Stages& stages, const Lanes& lanes, const std::byte* source,
                  std::byte* into) {
  Direct& board = stages.board;
  const std::size_t element = board.element, chunk = board.chunk(lanes.lanes());
  std::array<const void*, Direct::kMostRanks> inputs;
  std::size_t shown = 0;
  auto total = [&](std::size_t at, std::size_t step) {
    std::size_t sum = 0;
    for (int lane = 0; lane < lanes.lanes(); ++lane) sum += lanes.piece(lane, at, step).count;
    return sum;
  };
  auto show = [&](std::size_t at) {
    const std::size_t step = std::min(chunk, lanes.length() - at);
    std::byte* place = board.compose(total(at, step));
    for (int lane = 0; lane < lanes.lanes(); ++lane) {
      const Part piece = lanes.piece(lane, at, step);
      std::memcpy(place + lane * step * element, source + piece.offset * element,
                  piece.count * element);
    }
    board.post(total(at, step));
  };
  for (std::size_t at = 0; at < lanes.length(); at += chunk) {
    for (; shown < lanes.length() && shown <= at + chunk; shown += chunk) show(shown);
    const std::size_t step = std::min(chunk, lanes.length() - at);
    const Part own = lanes.piece(board.position, at, step);
    if (own.count) {
      for (int peer = 0; peer < board.ranks; ++peer) {
        inputs[peer] = peer == board.position
                           ? source + own.offset * element
                           : board.seen(peer, total(at, step)) + board.position * step * element;
      }
      stages.reduction.combine(into + own.offset * element, nullptr, inputs.data(), board.ranks,
                               own.count);
    }
    board.next_round();
  }
}

// Each that takes part shows its own part of `from`; all parts are copied to `into`, unless null.
void gather_parts(const Stages& stages, const Lanes& lanes, const std::byte* from,
                  std::byte* into) {
  Direct& board = stages.board;
  const std::size_t element = board.element, chunk = board.chunk();
  std::size_t shown = 0;
  auto show = [&](std::size_t at) {
    const Part own = lanes.piece(board.position, at, chunk);
    own.count ? board.show(from + own.offset * element, own.count) : board.show_nothing();
  };
  for (std::size_t at = 0; at < lanes.length(); at += chunk) {
    for (; shown < lanes.length() && shown <= at + chunk; shown += chunk) show(shown);
    for (int next = 0; into != nullptr && next < lanes.lanes(); ++next) {
      const int lane = (board.position + next) % lanes.lanes();
      const Part piece = lanes.piece(lane, at, chunk);
      std::byte* place = into + piece.offset * element;
      if (lane != board.position) {
        if (piece.count) board.copy(place, board.seen(lane, piece.count), piece.count);
      } else if (from != into) {
        board.copy(place, from + piece.offset * element, piece.count);
      }
    }
    board.next_round();
  }
}

// How a part of `count` elements goes across.
Schedule across_all_reduce(const Recursive& across, std::size_t count, Part part) {
  return count * across.element() <= kDoublingBytes
             ? doubling_all_reduce(across.place(), part)
             : halving_all_reduce(across.place(), part, across.element());
}

}  // namespace

int Hosts::lanes() const {
  auto fewest = std::min_element(ranks.begin(), ranks.end(),
                                 [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return static_cast<int>(fewest->size());
}

bool Hosts::equal() const {
  return std::all_of(ranks.begin(), ranks.end(),
                     [&](const auto& each) { return each.size() == ranks[0].size(); });
}

int Hosts::of(int rank) const {
  auto found = std::find_if(ranks.begin(), ranks.end(), [&](const auto& each) {
    return std::find(each.begin(), each.end(), rank) != each.end();
  });
  return static_cast<int>(found - ranks.begin());
}

void hierarchical_all_reduce(const Stages& stages, const std::byte* source, std::byte* destination,
                             std::size_t count) {
  const Lanes lanes(count, stages.hosts.lanes(), stages.board.element);
  reduce_parts(stages, lanes, source, destination);
  const Part own = lanes.part(stages.board.position);
  if (own.count) stages.across.run(across_all_reduce(stages.across, count, own), destination);
  gather_parts(stages, lanes, destination, destination);
}

void hierarchical_broadcast(const Stages& stages, const std::byte* source, std::byte* destination,
                            std::size_t count, int root) {
  const Lanes lanes(count, stages.hosts.lanes(), stages.board.element);
  const int from = stages.hosts.of(root);
  const bool has_root = from == stages.hosts.own;
  if (has_root) direct_broadcast(stages.board, source, destination, count, root);
  const Part own = lanes.part(stages.board.position);
  if (own.count) {
    stages.across.run(doubling_broadcast(stages.across.place(), own, from), destination);
  }
  if (!has_root) gather_parts(stages, lanes, destination, destination);
}

void hierarchical_reduce(const Stages& stages, const std::byte* source, std::byte* destination,
                         std::size_t count, int root) {
  const std::size_t element = stages.board.element, most = kScratchBytes / element;
  const int to = stages.hosts.of(root);
  const bool is_root = stages.board.rank(stages.board.position) == root;
  std::byte* scratch = stages.across.scratch(std::min(count, most) * element);
  for (std::size_t at = 0; at < count; at += most) {
    const std::size_t some = std::min(most, count - at);
    const Lanes lanes(some, stages.hosts.lanes(), element);
    reduce_parts(stages, lanes, source + at * element, scratch);
    const Part own = lanes.part(stages.board.position);
    if (own.count) {
      stages.across.run(halving_reduce(stages.across.place(), own, to), scratch);
    }
    if (to == stages.hosts.own) {
      gather_parts(stages, lanes, scratch, is_root ? destination + at * element : nullptr);
    }
  }
}

void hierarchical_all_gather(const Stages& stages, const std::byte* source, std::byte* destination,
                             std::size_t count) {
  Direct& board = stages.board;
  const auto& hosts = stages.hosts.ranks;
  const std::size_t element = board.element, chunk = board.chunk(static_cast<int>(hosts.size()));
  auto block = [&](const std::vector<int>& host, int position) {
    return destination + host[position] * count * element;
  };
  std::byte* own = block(hosts[stages.hosts.own], board.position);
  if (own != source && count) std::memmove(own, source, count * element);
  std::vector<Part> blocks;
  for (int rank : stages.across.order()) blocks.push_back({rank * count, count});
  stages.across.run(doubling_all_gather(stages.across.place(), blocks), destination);
  std::size_t shown = 0;
  auto show = [&](std::size_t at) {
    const std::size_t some = std::min(chunk, count - at);
    std::byte* place = board.compose(hosts.size() * some);
    for (std::size_t host = 0; host < hosts.size(); ++host) {
      std::memcpy(place + host * some * element, block(hosts[host], board.position) + at * element,
                  some * element);
    }
    board.post(hosts.size() * some);
  };
  for (std::size_t at = 0; at < count; at += chunk) {
    for (; shown < count && shown <= at + chunk; shown += chunk) show(shown);
    const std::size_t some = std::min(chunk, count - at);
    for (int next = 1; next < board.ranks; ++next) {
      const int peer = (board.position + next) % board.ranks;
      const std::byte* message = board.seen(peer, hosts.size() * some);
      for (std::size_t host = 0; host < hosts.size(); ++host) {
        board.copy(block(hosts[host], peer) + at * element, message + host * some * element, some);
      }
    }
    board.next_round();
  }
}

// The blocks of all hosts' ranks of one position lie in the scratch one after another.
void hierarchical_reduce_scatter(const Stages& stages, const std::byte* source,
                                 std::byte* destination, std::size_t count) {
  Direct& board = stages.board;
  const auto& hosts = stages.hosts.ranks;
  const int on_board = board.ranks * static_cast<int>(hosts.size());
  const std::size_t element = board.element, chunk = board.chunk(on_board);
  const std::size_t most = std::max<std::size_t>(1, kScratchBytes / element / hosts.size());
  std::byte* scratch = stages.across.scratch(hosts.size() * std::min(count, most) * element);
  std::array<const void*, Direct::kMostRanks> inputs;
  for (std::size_t start = 0; start < count; start += most) {
    const std::size_t length = std::min(most, count - start);
    for (std::size_t at = 0; at < length; at += chunk) {
      const std::size_t some = std::min(chunk, length - at);
      auto piece = [&](std::size_t host, int position) {
        return source + (hosts[host][position] * count + start + at) * element;
      };
      std::byte* place = board.compose(on_board * some);
      for (int position = 0; position < board.ranks; ++position) {
        for (std::size_t host = 0; host < hosts.size(); ++host) {
          std::memcpy(place + (position * hosts.size() + host) * some * element,
                      piece(host, position), some * element);
        }
      }
      board.post(on_board * some);
      for (std::size_t host = 0; host < hosts.size(); ++host) {
        const std::size_t there = (board.position * hosts.size() + host) * some * element;
        for (int peer = 0; peer < board.ranks; ++peer) {
          inputs[peer] = peer == board.position ? piece(host, peer)
                                                : board.seen(peer, on_board * some) + there;
        }
        stages.reduction.combine(scratch + (host * length + at) * element, nullptr, inputs.data(),
                                 board.ranks, some);
      }
      board.next_round();
    }
    std::vector<Part> blocks;
    for (std::size_t host = 0; host < hosts.size(); ++host) {
      blocks.push_back({host * length, length});
    }
    stages.across.run(halving_reduce_scatter(stages.across.place(), blocks), scratch);
    const std::byte* own = scratch + stages.hosts.own * length * element;
    board.copy(destination + start * element, own, length);
  }
}

}  // namespace railgauge
