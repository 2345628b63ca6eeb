// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/recursive_schedule.h"

#include "collectives/native/turn.h"

namespace railgauge {

namespace {

using Blocks = std::vector<Part>;

// Adds a block, as one with that before it where they are neighbours.
void append(Blocks& blocks, const Part& block) {
  if (block.count == 0) return;
  if (!blocks.empty() && blocks.back().offset + blocks.back().count == block.offset) {
    blocks.back().count += block.count;
  } else {
    blocks.push_back(block);
  }
}

// The blocks of the `span` ranks of the core that differ from `position` in bits below `span` only,
// and of those beyond the core that go with them.
Blocks around(CubePlace place, int position, int span, const Blocks& blocks) {
  const int first = position & ~(span - 1);
  Blocks found;
  for (int base : {0, place.core()}) {
    for (int at = base + first; at < std::min(base + first + span, place.size); ++at) {
      append(found, blocks[at]);
    }
  }
  return found;
}

Blocks all_but(int position, const Blocks& blocks) {
  Blocks found;
  for (int at = 0; at < static_cast<int>(blocks.size()); ++at) {
    if (at != position) append(found, blocks[at]);
  }
  return found;
}

ScheduleStep gives(int peer, const Blocks& blocks) {
  return {.peer = peer, .give = blocks, .take = {}};
}
ScheduleStep takes(int peer, const Blocks& blocks, ScheduleStep::Kind kind = ScheduleStep::kCopy) {
  return {.peer = peer, .give = {}, .take = blocks, .kind = kind};
}

}  // namespace

Schedule doubling_all_reduce(CubePlace place, Part all) {
  const int partner = place.partner();
  if (place.is_beyond()) return {gives(partner, {all}), takes(partner, {all})};
  Schedule steps;
  if (partner >= 0) steps.push_back(takes(partner, {all}, ScheduleStep::kReduce));
  for (int bit = 1; bit < place.core(); bit *= 2) {
    steps.push_back(
        {place.position ^ bit, {all}, {all}, ScheduleStep::kReduceBoth, 2 * bit == place.core()});
  }
  if (partner >= 0) steps.push_back(gives(partner, {all}));
  return steps;
}

Schedule doubling_all_gather(CubePlace place, const Blocks& blocks) {
  const int partner = place.partner(), position = place.position;
  if (place.is_beyond()) {
    return {gives(partner, {blocks[position]}), takes(partner, all_but(position, blocks))};
  }
  Schedule steps;
  if (partner >= 0) steps.push_back(takes(partner, {blocks[partner]}));
  for (int bit = 1; bit < place.core(); bit *= 2) {
    const int peer = position ^ bit;
    steps.push_back({peer, around(place, position, bit, blocks), around(place, peer, bit, blocks)});
  }
  if (partner >= 0) steps.push_back(gives(partner, all_but(partner, blocks)));
  return steps;
}

Schedule halving_reduce_scatter(CubePlace place, const Blocks& blocks) {
  const int partner = place.partner(), position = place.position;
  const Blocks everything = all_but(-1, blocks);
  if (place.is_beyond()) {
    return {gives(partner, everything), takes(partner, {blocks[position]})};
  }
  Schedule steps;
  if (partner >= 0) steps.push_back(takes(partner, everything, ScheduleStep::kReduce));
  for (int bit = place.core() / 2; bit > 0; bit /= 2) {
    const int peer = position ^ bit;
    steps.push_back({peer, around(place, peer, bit, blocks), around(place, position, bit, blocks),
                     ScheduleStep::kReduce, bit == 1});
  }
  if (partner >= 0) steps.push_back(gives(partner, {blocks[partner]}));
  return steps;
}

Schedule halving_all_reduce(CubePlace place, Part all, std::size_t element) {
  const Turn turn(all.offset, all.offset + all.count, place.core(), element);
  Blocks blocks(place.size, Part{0, 0});
  for (int at = 0; at < place.core(); ++at) blocks[at] = {turn.offset(at), turn.count(at)};
  Schedule steps = halving_reduce_scatter(place, blocks);
  for (ScheduleStep& one : doubling_all_gather(place, blocks)) steps.push_back(std::move(one));
  return steps;
}

// From the far end of the cube to the near one, so that long distances are used while few ranks
// have the data.
Schedule doubling_broadcast(CubePlace place, Part all, int root) {
  const int partner = place.partner();
  if (place.is_beyond()) {
    return {place.position == root ? gives(partner, {all}) : takes(partner, {all})};
  }
  Schedule steps;
  if (partner == root) steps.push_back(takes(partner, {all}));
  const int distance = place.position ^ (root & (place.core() - 1));
  for (int bit = place.core() / 2; bit > 0; bit /= 2) {
    const int peer = place.position ^ bit;
    if (distance % (2 * bit) == 0) steps.push_back(gives(peer, {all}));
    if (distance % (2 * bit) == bit) steps.push_back(takes(peer, {all}));
  }
  if (partner >= 0 && partner != root) steps.push_back(gives(partner, {all}));
  return steps;
}

Schedule halving_reduce(CubePlace place, Part all, int root) {
  const int partner = place.partner();
  if (place.is_beyond()) {
    Schedule steps{gives(partner, {all})};
    if (place.position == root) steps.push_back(takes(partner, {all}));
    return steps;
  }
  Schedule steps;
  if (partner >= 0) steps.push_back(takes(partner, {all}, ScheduleStep::kReduce));
  const int distance = place.position ^ (root & (place.core() - 1));
  for (int bit = 1; bit < place.core(); bit *= 2) {
    const int peer = place.position ^ bit;
    if (distance % (2 * bit) == bit) steps.push_back(gives(peer, {all}));
    if (distance % (2 * bit) != 0) continue;
    steps.push_back(takes(peer, {all}, ScheduleStep::kReduce));
    steps.back().ends = 2 * bit == place.core();
  }
  if (partner == root) steps.push_back(gives(partner, {all}));
  return steps;
}

}  // namespace railgauge
