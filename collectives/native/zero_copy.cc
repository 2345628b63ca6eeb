// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/zero_copy.h"

#include <algorithm>

#include "collectives/native/reduction.h"
#include "collectives/native/turn.h"

namespace railgauge {

namespace {

// What is reduced at a time: the inputs of all ranks stay in a core's second-level cache. A shorter
// read of another process' memory costs more in the call than in the copying.
constexpr std::size_t kInputBytes = 256 << 10;
constexpr std::size_t kLeastChunkBytes = 16 << 10, kMostChunkBytes = 64 << 10;

bool is_registered(const shm::Reference& reference) {
  return reference.registration != shm::Reference::kNotRegistered;
}

bool in_cross_memory(std::size_t bytes, const ZeroCopySizes& sizes,
                     const shm::SharedSegment& segment) {
  return segment.cross_memory() && bytes >= sizes.cross_memory_from &&
         bytes < sizes.cross_memory_below;
}

}  // namespace

ZeroCopy::ZeroCopy(shm::SharedSegment& segment, Waiting& waiting, const Operation& operation,
                   const Subject& subject, bool stream)
    : segment_(segment),
      o_(operation),
      direct_(segment, waiting, operation, subject, Protocol::kSimple, stream),
      ranks_(segment.size()),
      position_(segment.position()),
      element_(operation.element_bytes()),
      lent_(ranks_) {}

bool ZeroCopy::worth_asking(const Operation& operation, const ZeroCopySizes& sizes,
                            shm::SharedSegment& segment) {
  const std::size_t bytes = operation.bytes(segment.size());
  return (bytes >= sizes.registered_from && !segment.registered_memory().empty()) ||
         in_cross_memory(bytes, sizes, segment);
}

bool ZeroCopy::agree(const ZeroCopySizes& sizes) {
  const Extent own = extent_at(position_);
  direct_.exchange(
      Lent{segment_.registered_memory().refer(o_.source, own.source * element_),
           segment_.registered_memory().refer(o_.destination, own.destination * element_)},
      lent_);
  bool sources = true, destinations = true;
  for (int peer = 0; peer < ranks_; ++peer) {
    const Extent extent = extent_at(peer);
    sources &= !extent.source || is_registered(lent_[peer].source);
    destinations &= !extent.destination || is_registered(lent_[peer].destination);
  }
  switch (o_.collective) {
    case Collective::kAllReduce:
    case Collective::kReduce:
      registered_ = sources && destinations;
      break;
    case Collective::kGather:
      registered_ = destinations;
      break;
    default:
      registered_ = sources;
  }
  const std::size_t bytes = o_.bytes(ranks_);
  return registered_ ? bytes >= sizes.registered_from : in_cross_memory(bytes, sizes, segment_);
}

void ZeroCopy::run() {
  move();
  meet();
}

// A barrier: continues when all ranks are here, with all that they have written.
void ZeroCopy::meet() {
  if (direct_.stream) stream_fence();
  std::vector<char> here(ranks_);
  direct_.exchange(char{}, here);
}

void ZeroCopy::move() {
  switch (o_.collective) {
    case Collective::kAllReduce:
      return all_reduce();
    case Collective::kReduce:
      return reduce();
    case Collective::kReduceScatter:
      return reduce_part(rank() * o_.count, o_.count, {o_.destination});
    case Collective::kBroadcast:
      return take(root(), 0, 0);
    case Collective::kScatter:
      return take(root(), rank() * o_.count, 0);
    case Collective::kSendRecv:
      return take((position_ + ranks_ - 1) % ranks_, 0, 0);
    case Collective::kGather:
      return gather();
    case Collective::kAllGather:
      return take_from_all(0);
    case Collective::kAllToAll:
      return take_from_all(rank() * o_.count);
    case Collective::kAllToAllV:  // goes by pairs
    case Collective::kBarrier:    // moves nothing
      return;
  }
}

// Operation::count elements of a peer's source, from `at` on, to this rank's destination.
void ZeroCopy::take(int peer, std::size_t at, std::size_t to) {
  std::byte* out = o_.destination + to * element_;
  if (peer != position_) return copy_from(peer, lent_[peer].source, at, out, o_.count);
  const std::byte* own = o_.source + at * element_;
  if (own != out) direct_.copy(out, own, o_.count);
}

void ZeroCopy::take_from_all(std::size_t at) {
  for (int step = 0; step < ranks_; ++step) {
    const int peer = (position_ + step) % ranks_;
    take(peer, at, direct_.rank(peer) * o_.count);
  }
}

// Each rank has a part of the elements, which it reduces out of all sources. In registered memory
// it writes the result to all ranks; else they come for it when all have read what they need of the
// sources, since those may be where the results go.
void ZeroCopy::all_reduce() {
  const Turn turn(0, o_.count, ranks_, element_);
  const std::size_t at = turn.offset(position_), count = turn.count(position_);
  std::vector<std::byte*> outs{o_.destination + at * element_};
  for (int step = 1; registered_ && step < ranks_; ++step) {
    const int peer = (position_ + step) % ranks_;
    outs.push_back(there(lent_[peer].destination, peer, at, count));
  }
  reduce_part(at, count, outs);
  if (registered_) return;
  meet();
  for (int step = 1; step < ranks_; ++step) {
    const int peer = (position_ + step) % ranks_;
    const std::size_t theirs = turn.offset(peer);
    copy_from(peer, lent_[peer].destination, theirs, o_.destination + theirs * element_,
              turn.count(peer));
  }
}

// In registered memory each rank reduces a part and writes it to the root; else the root does all
// of it.
void ZeroCopy::reduce() {
  if (!registered_) {
    if (position_ == root()) reduce_part(0, o_.count, {o_.destination});
    return;
  }
  const Turn turn(0, o_.count, ranks_, element_);
  const std::size_t at = turn.offset(position_), count = turn.count(position_);
  reduce_part(at, count, {there(lent_[root()].destination, root(), at, count)});
}

// In registered memory each rank writes its part to the root; else the root takes all.
void ZeroCopy::gather() {
  if (!registered_) {
    if (position_ == root()) take_from_all(0);
    return;
  }
  std::byte* part = there(lent_[root()].destination, root(), rank() * o_.count, o_.count);
  if (part != o_.source) direct_.copy(part, o_.source, o_.count);
}

// Reduces `count` elements from `at` on of all sources, to each of `outs`.
void ZeroCopy::reduce_part(std::size_t at, std::size_t count, const std::vector<std::byte*>& outs) {
  const Reduction reduction(o_, ranks_);
  const std::size_t chunk = std::clamp(kInputBytes / ranks_, kLeastChunkBytes, kMostChunkBytes);
  const std::size_t step = chunk / element_;
  std::byte* room = segment_.room(chunk * ranks_);
  std::vector<const void*> inputs(ranks_);
  std::byte* second = outs.size() > 1 ? outs[1] : nullptr;
  for (std::size_t done = 0; done < count; done += step) {
    const std::size_t some = std::min(step, count - done), offset = done * element_;
    for (int peer = 0; peer < ranks_; ++peer) {
      inputs[peer] = input(peer, at + done, some, room + peer * chunk);
    }
    reduction.finish(outs[0] + offset, second ? second + offset : nullptr, inputs.data(), ranks_,
                     some, direct_.stream);
    for (std::size_t other = 2; other < outs.size(); ++other) {
      direct_.copy(outs[other] + offset, outs[0] + offset, some);
    }
  }
}

// `count` elements of a peer's source from `at` on: where they are, or else in `room`.
const std::byte* ZeroCopy::input(int peer, std::size_t at, std::size_t count,
                                 std::byte* room) const {
  if (peer == position_) return o_.source + at * element_;
  const shm::Reference& source = lent_[peer].source;
  if (is_registered(source)) return there(source, peer, at, count);
  copy_from(peer, source, at, room, count);
  return room;
}

// Copies `count` elements of a peer's array, from `at` on.
void ZeroCopy::copy_from(int peer, const shm::Reference& array, std::size_t at, std::byte* out,
                         std::size_t count) const {
  if (is_registered(array)) return direct_.copy(out, there(array, peer, at, count), count);
  segment_.fetch(peer, {array.registration, array.at + at * element_}, out, count * element_);
}

// Where `count` elements of a peer's array in a registration are, from element `at` on.
std::byte* ZeroCopy::there(const shm::Reference& array, int peer, std::size_t at,
                           std::size_t count) const {
  const shm::Reference part{array.registration, array.at + at * element_};
  return segment_.registered_memory().find(part, peer, count * element_);
}

}  // namespace railgauge
