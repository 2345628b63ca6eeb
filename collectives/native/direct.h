// SPDX-License-Identifier: Apache-2.0
// What the direct algorithms of one operation share: all ranks of a host map each other's shared
// segments, so that every exchange is show() on the own one and seen() on the others'. A large
// operation is cut into chunks that fit a slot of the segment; show_ahead() posts the next chunk
// before this one is read, so that peers do not wait for each other's reads.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "collectives/native/reduce.h"
#include "collectives/native/subject.h"
#include "transports/native/error.h"
#include "transports/native/shm/shared_segment.h"

namespace railgauge {

// How others detect data: by a flag after it, or, for few bytes, in it. The numbers are
// part of the Python binding (collectives/tuning.py).
enum class Protocol : int { kSimple, kLl };

class Direct {
 public:
  static constexpr int kMostRanks = shm::kMostRanks;

  Direct(shm::SharedSegment& segment, Waiting& waiting, const Operation& operation,
         const Subject& subject, Protocol protocol, bool stream)
      : element(operation.element_bytes()),
        ranks(segment.size()),
        position(segment.position()),
        stream(stream),
        protocol_(protocol),
        segment_(segment),
        waiting_(waiting),
        subject_(subject),
        first_(segment.next()),
        read_(first_) {}

  const std::size_t element;
  const int ranks;     // on this host
  const int position;  // of this rank among them
  const bool stream;   // write results past the caches

  // How many elements a message holds when it has `parts` equal parts, each beginning on a line.
  // Throws Error(kInvalid) if a slot has too few lines.
  std::size_t chunk(int parts = 1) const {
    const std::size_t lines = segment_.place_bytes() / parts / kLine;
    if (lines == 0) {
      throw Error(ErrorCode::kInvalid,
                  "a slot of a shared segment has " + std::to_string(segment_.place_bytes()) +
                      " bytes, and " + std::to_string(parts) + " parts a line of 64 bytes each");
    }
    return lines * kLine / element;
  }

  // `count` elements, and what is left to the end of their last line.
  std::size_t spaced(std::size_t count) const {
    const std::size_t line = kLine / element;
    return count * element <= shm::kShort / (ranks - 1) ? count : (count + line - 1) / line * line;
  }
  // The rank at a position here, and the position of a rank.
  int rank(int position) const { return segment_.rank_at(position); }
  int position_of(int rank) const { return segment_.position_of(rank); }

  // Posts `count` elements to all.
  void show(const std::byte* data, std::size_t count) {
    std::byte* place = compose(count);
    std::memcpy(place, data, count * element);
    post(count);
  }
  void show_nothing() {
    compose(0);
    post(0);
  }
  std::byte* compose(std::size_t count) { return segment_.compose(room(count), first_, waiting_); }
  void post(std::size_t count) { segment_.post(count * element, subject_); }

  // The post of the rank at `peer` in this round.
  const std::byte* seen(int peer, std::size_t count) {
    auto [data, subject] = segment_.read(peer, read_, room(count), first_, waiting_);
    if (subject != subject_) mismatch(peer, subject);
    return data;
  }
  // A round of a few bytes: posts one value, and returns all ranks' values, by position.
  template <class T>
  void exchange(const T& own, std::vector<T>& told) {
    static_assert(sizeof(T) <= shm::kShort);
    std::memcpy(segment_.compose(sizeof(T), first_, waiting_), &own, sizeof(T));
    segment_.post(sizeof(T), subject_);
    for (int peer = 0; peer < ranks; ++peer) {
      auto [data, subject] = segment_.read(peer, read_, sizeof(T), first_, waiting_);
      if (subject != subject_) mismatch(peer, subject);
      std::memcpy(&told[peer], data, sizeof(T));
    }
    next_round();
  }
  // Ends a round: its posts are no longer needed.
  void next_round() { segment_.done(++read_); }

  void copy(std::byte* out, const std::byte* in, std::size_t count) const {
    stream ? stream_copy(out, in, count * element)
           : static_cast<void>(std::memcpy(out, in, count * element));
  }

 private:
  static constexpr std::size_t kLine = 64;

  [[noreturn]] void mismatch(int peer, const Subject& subject) const {
    throw Error(ErrorCode::kMismatch,
                describe_mismatch(segment_.world_rank_at(peer), subject, subject_));
  }

  // The size by which a shared segment decides where a message lies: a short one beside its number,
  // in the same cache line, unless the protocol excludes that.
  std::size_t room(std::size_t count) const {
    return std::max(count * element, protocol_ == Protocol::kLl ? 0 : shm::kShort + 1);
  }

  const Protocol protocol_;
  shm::SharedSegment& segment_;
  Waiting& waiting_;
  const Subject subject_;
  const std::uint64_t first_;  // the number of the first round's messages
  std::uint64_t read_;         // the number of this round's messages
};

}  // namespace railgauge
