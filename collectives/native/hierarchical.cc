// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/hierarchical.h"

#include <algorithm>
#include <array>

#include "collectives/native/broadcast.h"
#include "collectives/native/turn.h"

namespace railgauge {

namespace {

// The scratch for partial results if the destination has no space for them.
constexpr std::size_t kScratchBytes = 1 << 20;
// All-reduces up to this size use doubling across hosts; collectives/cost/host_across.py has the
// same.
constexpr std::size_t kDoublingBytes = 64 << 10;

// A part of the data for each position that takes part across, and the same part of every part at
// a time: piece `at` of a part is its elements [at, at + step).
class RailParts {
 public:
  RailParts(std::size_t count, int rails, std::size_t element)
      : turn_(0, count, rails, element), rails_(rails) {}

  int count() const { return rails_; }
  std::size_t length() const { return turn_.count(0); }  // of the longest one
  Part part(int rail) const {
    return rail < rails_ ? Part{turn_.offset(rail), turn_.count(rail)} : Part{0, 0};
  }
  Part piece(int rail, std::size_t at, std::size_t step) const {
    const Part whole = part(rail);
    const std::size_t begin = std::min(at, whole.count);
    return {whole.offset + begin, std::min(step, whole.count - begin)};
  }

 private:
  Turn turn_;
  int rails_;
};

// Every rank posts all parts; each that takes part reduces its own into `into`.
void reduce_parts(const Stages& stages, const RailParts& rails, const std::byte* source,
                  std::byte* into) {
  Direct& direct = stages.direct;
  const std::size_t element = direct.element, chunk = direct.chunk(rails.count());
  std::array<const void*, Direct::kMostRanks> inputs;
  std::size_t shown = 0;
  auto total = [&](std::size_t at, std::size_t step) {
    std::size_t sum = 0;
    for (int rail = 0; rail < rails.count(); ++rail) sum += rails.piece(rail, at, step).count;
    return sum;
  };
  auto show = [&](std::size_t at) {
    const std::size_t step = std::min(chunk, rails.length() - at);
    std::byte* place = direct.compose(total(at, step));
    for (int rail = 0; rail < rails.count(); ++rail) {
      const Part piece = rails.piece(rail, at, step);
      std::memcpy(place + rail * step * element, source + piece.offset * element,
                  piece.count * element);
    }
    direct.post(total(at, step));
  };
  for (std::size_t at = 0; at < rails.length(); at += chunk) {
    for (; shown < rails.length() && shown <= at + chunk; shown += chunk) show(shown);
    const std::size_t step = std::min(chunk, rails.length() - at);
    const Part own = rails.piece(direct.position, at, step);
    if (own.count) {
      for (int peer = 0; peer < direct.ranks; ++peer) {
        inputs[peer] = peer == direct.position
                           ? source + own.offset * element
                           : direct.seen(peer, total(at, step)) + direct.position * step * element;
      }
      stages.reduction.combine(into + own.offset * element, nullptr, inputs.data(), direct.ranks,
                               own.count);
    }
    direct.next_round();
  }
}

// Each that takes part posts its own part of `from`; all parts are copied to `into`, unless null.
void gather_parts(const Stages& stages, const RailParts& rails, const std::byte* from,
                  std::byte* into) {
  Direct& direct = stages.direct;
  const std::size_t element = direct.element, chunk = direct.chunk();
  std::size_t shown = 0;
  auto show = [&](std::size_t at) {
    const Part own = rails.piece(direct.position, at, chunk);
    own.count ? direct.show(from + own.offset * element, own.count) : direct.show_nothing();
  };
  for (std::size_t at = 0; at < rails.length(); at += chunk) {
    for (; shown < rails.length() && shown <= at + chunk; shown += chunk) show(shown);
    for (int next = 0; into != nullptr && next < rails.count(); ++next) {
      const int rail = (direct.position + next) % rails.count();
      const Part piece = rails.piece(rail, at, chunk);
      std::byte* place = into + piece.offset * element;
      if (rail != direct.position) {
        if (piece.count) direct.copy(place, direct.seen(rail, piece.count), piece.count);
      } else if (from != into) {
        direct.copy(place, from + piece.offset * element, piece.count);
      }
    }
    direct.next_round();
  }
}

// The algorithm across hosts for a part of `count` elements.
Schedule across_all_reduce(const Recursive& across, std::size_t count, Part part) {
  return count * across.element() <= kDoublingBytes
             ? doubling_all_reduce(across.place(), part)
             : halving_all_reduce(across.place(), part, across.element());
}

}  // namespace

int Hosts::rails() const {
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
  const RailParts rails(count, stages.hosts.rails(), stages.direct.element);
  reduce_parts(stages, rails, source, destination);
  const Part own = rails.part(stages.direct.position);
  if (own.count) stages.across.run(across_all_reduce(stages.across, count, own), destination);
  gather_parts(stages, rails, destination, destination);
}

void hierarchical_broadcast(const Stages& stages, const std::byte* source, std::byte* destination,
                            std::size_t count, int root) {
  const RailParts rails(count, stages.hosts.rails(), stages.direct.element);
  const int from = stages.hosts.of(root);
  const bool has_root = from == stages.hosts.own;
  if (has_root) direct_broadcast(stages.direct, source, destination, count, root);
  const Part own = rails.part(stages.direct.position);
  if (own.count) {
    stages.across.run(doubling_broadcast(stages.across.place(), own, from), destination);
  }
  if (!has_root) gather_parts(stages, rails, destination, destination);
}

void hierarchical_reduce(const Stages& stages, const std::byte* source, std::byte* destination,
                         std::size_t count, int root) {
  const std::size_t element = stages.direct.element, most = kScratchBytes / element;
  const int to = stages.hosts.of(root);
  const bool is_root = stages.direct.rank(stages.direct.position) == root;
  std::byte* scratch = stages.across.scratch(std::min(count, most) * element);
  for (std::size_t at = 0; at < count; at += most) {
    const std::size_t some = std::min(most, count - at);
    const RailParts rails(some, stages.hosts.rails(), element);
    reduce_parts(stages, rails, source + at * element, scratch);
    const Part own = rails.part(stages.direct.position);
    if (own.count) {
      stages.across.run(halving_reduce(stages.across.place(), own, to), scratch);
    }
    if (to == stages.hosts.own) {
      gather_parts(stages, rails, scratch, is_root ? destination + at * element : nullptr);
    }
  }
}

void hierarchical_all_gather(const Stages& stages, const std::byte* source, std::byte* destination,
                             std::size_t count) {
  Direct& direct = stages.direct;
  const auto& hosts = stages.hosts.ranks;
  const std::size_t element = direct.element, chunk = direct.chunk(static_cast<int>(hosts.size()));
  auto block = [&](const std::vector<int>& host, int position) {
    return destination + host[position] * count * element;
  };
  std::byte* own = block(hosts[stages.hosts.own], direct.position);
  if (own != source && count) std::memmove(own, source, count * element);
  std::vector<Part> blocks;
  for (int rank : stages.across.order()) blocks.push_back({rank * count, count});
  stages.across.run(doubling_all_gather(stages.across.place(), blocks), destination);
  std::size_t shown = 0;
  auto show = [&](std::size_t at) {
    const std::size_t some = std::min(chunk, count - at);
    std::byte* place = direct.compose(hosts.size() * some);
    for (std::size_t host = 0; host < hosts.size(); ++host) {
      std::memcpy(place + host * some * element, block(hosts[host], direct.position) + at * element,
                  some * element);
    }
    direct.post(hosts.size() * some);
  };
  for (std::size_t at = 0; at < count; at += chunk) {
    for (; shown < count && shown <= at + chunk; shown += chunk) show(shown);
    const std::size_t some = std::min(chunk, count - at);
    for (int next = 1; next < direct.ranks; ++next) {
      const int peer = (direct.position + next) % direct.ranks;
      const std::byte* message = direct.seen(peer, hosts.size() * some);
      for (std::size_t host = 0; host < hosts.size(); ++host) {
        direct.copy(block(hosts[host], peer) + at * element, message + host * some * element, some);
      }
    }
    direct.next_round();
  }
}

// The blocks of all hosts' ranks of one position lie in the scratch one after another.
void hierarchical_reduce_scatter(const Stages& stages, const std::byte* source,
                                 std::byte* destination, std::size_t count) {
  Direct& direct = stages.direct;
  const auto& hosts = stages.hosts.ranks;
  const int on_host = direct.ranks * static_cast<int>(hosts.size());
  const std::size_t element = direct.element, chunk = direct.chunk(on_host);
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
      std::byte* place = direct.compose(on_host * some);
      for (int position = 0; position < direct.ranks; ++position) {
        for (std::size_t host = 0; host < hosts.size(); ++host) {
          std::memcpy(place + (position * hosts.size() + host) * some * element,
                      piece(host, position), some * element);
        }
      }
      direct.post(on_host * some);
      for (std::size_t host = 0; host < hosts.size(); ++host) {
        const std::size_t there = (direct.position * hosts.size() + host) * some * element;
        for (int peer = 0; peer < direct.ranks; ++peer) {
          inputs[peer] = peer == direct.position ? piece(host, peer)
                                                 : direct.seen(peer, on_host * some) + there;
        }
        stages.reduction.combine(scratch + (host * length + at) * element, nullptr, inputs.data(),
                                 direct.ranks, some);
      }
      direct.next_round();
    }
    std::vector<Part> blocks;
    for (std::size_t host = 0; host < hosts.size(); ++host) {
      blocks.push_back({host * length, length});
    }
    stages.across.run(halving_reduce_scatter(stages.across.place(), blocks), scratch);
    const std::byte* own = scratch + stages.hosts.own * length * element;
    direct.copy(destination + start * element, own, length);
  }
}

}  // namespace railgauge
