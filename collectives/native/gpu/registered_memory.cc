// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/registered_memory.h"

#include <algorithm>
#include <string>

namespace railgauge::gpu {

namespace {

constexpr std::size_t kMulticastBytes = 16;  // of an access at a multicast address

}  // namespace

GpuRegisteredMemory::GpuRegisteredMemory(int device, PeerMemory& peers, std::vector<Via> via,
                                         int rank)
    : peers_(peers),
      via_(std::move(via)),
      rank_(rank),
      allowed_(via_.size() > 1 && via_.size() <= kMostRanks),
      gpu_(device),
      table_(device, kMostRegistrations * sizeof(Registration)) {
  for (int peer = 0; peer < static_cast<int>(via_.size()); ++peer) {
    allowed_ &= peer == rank || in_gpu(via_[peer]);
  }
}

std::vector<Lent> GpuRegisteredMemory::lend(const std::byte* data, std::size_t bytes) {
  return peers_.lend(reinterpret_cast<cuda::Pointer>(data), bytes,
                     "registering memory on this GPU");
}

int GpuRegisteredMemory::open(const std::byte* data, std::size_t bytes, bool symmetric,
                              const std::vector<Lent>& lent) {
  if (lent.size() != via_.size() || !allowed_) {
    throw Error(ErrorCode::kInvalid,
                "registering memory needs GPUs that all map each other's memory, and all ranks");
  }
  auto place = std::ranges::find(opened_, nullptr, &Opened::data);
  if (place == opened_.end()) {
    if (opened_.size() == kMostRegistrations) {
      throw Error(ErrorCode::kInvalid, "there are " + std::to_string(kMostRegistrations) +
                                           " registered arrays, as many as there can be: close "
                                           "some, or register what they are parts of");
    }
    place = opened_.emplace(place);
  }
  Opened registration{data, bytes, symmetric, {}, peers_.open(lent)};
  for (int rank = 0; rank < static_cast<int>(via_.size()); ++rank) {
    registration.at.begin[rank] = registration.peers[rank].begin;
  }
  registration.at.begin[rank_] = reinterpret_cast<char*>(const_cast<std::byte*>(data));
  const int number = static_cast<int>(place - opened_.begin());
  const cuda::Current current(table_.context());
  cuda_.check(cuda_.memory_write(table_.pointer() + number * sizeof(Registration), &registration.at,
                                 sizeof(Registration)),
              "writing memory of a GPU");
  *place = std::move(registration);
  return number;
}

// The one allocation that the memory is, and that begins with it.
cuda::MappedPiece GpuRegisteredMemory::allocation(int registration) const {
  const Opened& opened = opened_.at(registration);
  const auto pointer = reinterpret_cast<cuda::Pointer>(opened.data);
  const cuda::Current current(gpu_.context());
  cuda::Backing backing = cuda::backing_of(pointer, opened.bytes, "looking for an allocation");
  if (backing.pieces.size() != 1 || backing.begin != pointer ||
      backing.pieces[0].memory.kind() != cuda::ShareableKind::kAllocation)
    throw Error(ErrorCode::kSystem, "multicast needs memory of one cuMemCreate");
  return std::move(backing.pieces[0]);
}

Lent GpuRegisteredMemory::offer_multicast(int registration) {
  std::vector<cuda::MappedPiece> object;
  const std::size_t bytes = allocation(registration).bytes;
  if (rank_ == 0) object.push_back(cuda::multicast_object(static_cast<int>(via_.size()), bytes));
  return peers_.offer(std::move(object));
}

void GpuRegisteredMemory::join_multicast(int registration, const std::vector<Lent>& offered) {
  auto taken = peers_.take(offered);
  if (taken.at(0).size() != 1)
    throw Error(ErrorCode::kInvalid, "rank 0 offered no multicast object");
  opened_.at(registration).multicast =
      std::make_unique<cuda::MulticastMember>(gpu_, std::move(taken[0][0]));
}

void GpuRegisteredMemory::bind_multicast(int registration) {
  opened_.at(registration).multicast->bind(allocation(registration));
}

void GpuRegisteredMemory::close(int registration) { opened_.at(registration) = {}; }

bool GpuRegisteredMemory::have(const Operation& o) const {
  if (opened_.empty() || (!o.source && !o.destination)) return false;
  // In one step the root's links would carry all data to every rank.
  if (o.collective == Collective::kBroadcast && via_.size() > 2) return false;
  return (!o.source || source(o)) && (!o.destination || destination(o));
}

bool GpuRegisteredMemory::can_copy(const Operation& o) const {
  // For these, some ranks have no destination, or the root has another place for it in place.
  const bool of_root = o.collective == Collective::kGather || o.collective == Collective::kScatter;
  if (o.reduces() || of_root || !o.destination || !have(o)) return false;
  return opened_[destination(o)->registration].symmetric;
}

bool GpuRegisteredMemory::can_multicast(const Operation& o) const {
  const bool is_float =
      o.dtype == Dtype::kFloat16 || o.dtype == Dtype::kBfloat16 || o.dtype == Dtype::kFloat32;
  if (o.collective != Collective::kAllReduce || o.op != Redop::kSum || !is_float) return false;
  if (o.count * o.element_bytes() % kMulticastBytes) return false;
  const auto is_there = [&](const std::optional<Place>& place) {
    if (!place || place->at % kMulticastBytes) return false;
    const auto& member = opened_[place->registration].multicast;
    return member && member->pointer();
  };
  return is_there(source(o)) && is_there(destination(o));
}

std::byte* GpuRegisteredMemory::multicast(const Place& place) const {
  return reinterpret_cast<std::byte*>(opened_[place.registration].multicast->pointer()) + place.at;
}

std::optional<Place> GpuRegisteredMemory::source(const Operation& o) const {
  const int ranks = static_cast<int>(via_.size());
  return find(o.source, o.extent(rank_, ranks).source * o.element_bytes());
}

std::optional<Place> GpuRegisteredMemory::destination(const Operation& o) const {
  const int ranks = static_cast<int>(via_.size());
  return find(o.destination, o.extent(rank_, ranks).destination * o.element_bytes());
}

std::optional<Place> GpuRegisteredMemory::find(const std::byte* data, std::size_t bytes) const {
  for (std::size_t registration = 0; registration < opened_.size(); ++registration) {
    const Opened& one = opened_[registration];
    if (!one.data || data < one.data || data >= one.data + one.bytes) continue;
    const std::size_t at = data - one.data;
    if (bytes <= one.bytes - at) return Place{registration, at};
  }
  return {};
}

}  // namespace railgauge::gpu
