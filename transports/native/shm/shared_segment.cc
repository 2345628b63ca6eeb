// SPDX-License-Identifier: Apache-2.0
#include "transports/native/shm/shared_segment.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <random>

#include "transports/native/error.h"
#include "transports/native/shm/cross_memory.h"

namespace railgauge::shm {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kData = sizeof(Front) + kPlaces * sizeof(Head);
static_assert(sizeof(Front) == 2 * kLine && sizeof(Head) == kLine);

std::size_t board_size(std::size_t place_bytes) { return kData + kPlaces * place_bytes; }

Front& front_of(std::byte* base) { return *reinterpret_cast<Front*>(base); }

// Where a rank waits on shared segments: its current message, counted from the operation's first.
BlockedOn waits_for(int rank, bool frees_slot, std::uint64_t number, std::uint64_t first) {
  BlockedOn on = BlockedOn{rank, frees_slot}.at(0, number - first);
  on.channel = BlockedOn::kBoard;
  return on;
}

}  // namespace

SharedSegment::SharedSegment(std::size_t place_bytes)
    : place_bytes_(place_bytes),
      own_(Segment::create(board_size(place_bytes))),
      done_(&front_of(own_->data()).done) {
  if (place_bytes % kLine != 0) {
    throw Error(ErrorCode::kInvalid,
                "the slots of a shared segment must be a multiple of 64 bytes");
  }
  std::random_device draw;
  front_of(own_->data()).token = std::uint64_t{draw()} << 32 | draw();
  front_of(own_->data()).address = reinterpret_cast<std::uint64_t>(own_->data());
}

void SharedSegment::open(const std::vector<Peer>& peers) {
  if (peers.size() > kMostRanks) {
    throw Error(ErrorCode::kInvalid, "shared segments support up to " + std::to_string(kMostRanks) +
                                         " ranks of a host, not " + std::to_string(peers.size()));
  }
  peers_.clear();
  for (const Peer& peer : peers) {
    Opened opened{peer.rank, peer.world_rank, getpid(), nullptr, own_->data(), peer.doorbell, 0};
    if (peer.doorbell) {
      opened.segment = Segment::open(peer.segment);
      opened.pid = Segment::owner(peer.segment);
      opened.base = opened.segment->data();
      if (opened.segment->size() != own_->size()) {
        throw Error(
            ErrorCode::kInvalid,
            "a peer's shared segment has another size: do the ranks run different versions?");
      }
    } else {
      position_ = static_cast<int>(peers_.size());
    }
    peers_.push_back(std::move(opened));
  }
}

int SharedSegment::position_of(int rank) const {
  for (int position = 0; position < size(); ++position) {
    if (peers_[position].rank == rank) return position;
  }
  return -1;
}

Head& SharedSegment::head(std::byte* base, std::uint64_t number) {
  return reinterpret_cast<Head*>(base + sizeof(Front))[number % kPlaces];
}

std::byte* SharedSegment::data(std::byte* base, std::uint64_t number, std::size_t bytes) const {
  return bytes <= kShort ? head(base, number).data : base + kData + number % kPlaces * place_bytes_;
}

// Whether no rank needs a message below `number` any more.
bool SharedSegment::all_done(std::uint64_t number) {
  std::uint64_t least = ~std::uint64_t{0};
  for (Opened& peer : peers_) {
    if (peer.done_seen < number) {
      peer.done_seen = front_of(peer.base).done.load(std::memory_order_acquire);
    }
    if (peer.done_seen < number) return false;
    least = std::min(least, peer.done_seen);
  }
  free_below_ = least + kPlaces;
  return true;
}

bool SharedSegment::reads_peers() const {
  for (const Opened& peer : peers_) {
    const Front& shared = front_of(peer.base);
    std::uint64_t token = 0;
    if (!read_cross_memory(peer.pid, reinterpret_cast<std::byte*>(&token),
                           shared.address + offsetof(Front, token), sizeof token) ||
        token != shared.token) {
      return false;
    }
  }
  return true;
}

void SharedSegment::fetch(int position, const Reference& from, std::byte* to,
                          std::size_t bytes) const {
  const Opened& peer = peers_[position];
  if (read_cross_memory(peer.pid, to, from.at, bytes)) return;
  throw PeerLost("rank " + std::to_string(peer.world_rank) + "'s memory cannot be read: " +
                     std::strerror(errno) + "; if its process is alive, try RAILGAUGE_CMA=0",
                 peer.world_rank);
}

std::byte* SharedSegment::compose(std::size_t bytes, std::uint64_t first, Waiting& waiting) {
  if (posted_ >= free_below_) {
    std::uint64_t needed = posted_ - kPlaces + 1;
    auto first_behind = [&] {
      for (const Opened& peer : peers_) {
        if (peer.done_seen < needed) return waits_for(peer.world_rank, true, posted_, first);
      }
      return BlockedOn{};
    };
    std::atomic<std::uint32_t>& lacks_room = front_of(own_->data()).lacks_room;
    lacks_room.store(1, std::memory_order_relaxed);
    waiting.until([&] { return all_done(needed); }, first_behind,
                  [&] {
                    return "a free slot of the shared segment, which rank " +
                           std::to_string(first_behind().rank) + " still reads";
                  });
    lacks_room.store(0, std::memory_order_relaxed);
  }
  return data(own_->data(), posted_, bytes);
}

// Without a fence, which would cost time in each round: a rank that starts to wait at that moment
// wakes up a little later.
void SharedSegment::done(std::uint64_t number) {
  done_->store(number, std::memory_order_release);
  for (const Opened& peer : peers_) {
    if (peer.doorbell && front_of(peer.base).lacks_room.load(std::memory_order_relaxed)) {
      peer.doorbell->ring();
    }
  }
}

void SharedSegment::post(std::size_t bytes, const Subject& subject) {
  Head& own = head(own_->data(), posted_);
  own.subject = subject;
  own.number.store(++posted_, std::memory_order_release);
  bytes_.store(bytes_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  for (const Opened& peer : peers_) {
    if (peer.doorbell) peer.doorbell->ring();
  }
}

SharedSegment::Shown SharedSegment::read(int position, std::uint64_t number, std::size_t bytes,
                                         std::uint64_t first, Waiting& waiting) {
  Opened& peer = peers_[position];
  Head& there = head(peer.base, number);
  if (there.number.load(std::memory_order_acquire) <= number) {
    waiting.until(
        [&] { return there.number.load(std::memory_order_acquire) > number; },
        [&] { return waits_for(peer.world_rank, false, number, first); },
        [&] { return "data from rank " + std::to_string(peer.world_rank) + "'s shared segment"; });
  }
  return {data(peer.base, number, bytes), there.subject};
}

}  // namespace railgauge::shm
