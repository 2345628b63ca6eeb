// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/staging_buffers.h"

#include <unistd.h>

#include <cstring>
#include <string>

#include "transports/native/cuda/exportable.h"

namespace railgauge::gpu {

namespace {

bool on_host(Via via) { return via == Via::kShm || via == Via::kNet; }

}  // namespace

StagingBuffers::StagingBuffers(int device, PeerMemory& peers, const Layout& layout,
                               std::vector<Via> via, int handle_types)
    : device_(device),
      gpu_(device),
      peers_(peers),
      layout_(layout),
      via_(std::move(via)),
      at_(via_.size()),
      in_(via_.size()),
      out_(via_.size()),
      in_slots_(via_.size()),
      out_slots_(via_.size()) {
  std::size_t in_this_gpu = 0, in_host = 0;
  bool has_net = false;
  for (std::size_t rank = 0; rank < via_.size(); ++rank) {
    if (via_[rank] == Via::kNone) continue;
    std::size_t& end = in_gpu(via_[rank]) ? in_this_gpu : in_host;
    at_[rank] = end;
    end += layout.buffer_bytes();
    has_net |= via_[rank] == Via::kNet;
  }
  if (in_this_gpu) {
    here_.emplace(device, in_this_gpu, cuda::source(device, handle_types));
    here_->set(0, in_this_gpu);
  }
  char *shared = nullptr, *leaving = nullptr;
  if (in_host) {
    shared_ = shm::Segment::create_resident(in_host);
    shared = register_memory(*shared_);
  }
  if (has_net) {
    leaving_ = shm::Segment::create_resident(in_host);
    leaving = register_memory(*leaving_);
  }
  for (std::size_t rank = 0; rank < via_.size(); ++rank) {
    if (in_gpu(via_[rank]))
      in_[rank] = buffer(reinterpret_cast<char*>(here_->pointer()) + at_[rank]);
    if (on_host(via_[rank])) in_[rank] = buffer(shared + at_[rank]);
    if (via_[rank] == Via::kNet) out_[rank] = buffer(leaving + at_[rank]);
  }
}

char* StagingBuffers::register_memory(shm::Segment& segment) {
  registered_.push_back(
      std::make_unique<cuda::RegisteredHostMemory>(gpu_.context(), segment.data(), segment.size()));
  return registered_.back()->there();
}

std::vector<Lent> StagingBuffers::lend() {
  std::vector<Lent> all(via_.size());
  if (here_) all = peers_.lend(here_->pointer(), here_->size(), "lending staging buffers");
  for (std::size_t rank = 0; rank < via_.size(); ++rank) {
    all[rank].at += at_[rank];
    if (via_[rank] != Via::kShm) continue;
    const std::string descriptor = shared_->descriptor();
    std::strncpy(all[rank].shared, descriptor.c_str(), sizeof all[rank].shared - 1);
  }
  return all;
}

void StagingBuffers::open(const std::vector<Lent>& lent) {
  peers_memory_ = peers_.open(lent);
  const cuda::Current current(gpu_.context());
  for (std::size_t rank = 0; rank < via_.size(); ++rank) {
    if (via_[rank] == Via::kShm)
      out_[rank] = buffer(opened(static_cast<int>(rank), lent[rank]) + lent[rank].at);
    if (in_gpu(via_[rank])) out_[rank] = buffer(peers_memory_[rank].begin);
  }
}

std::byte* StagingBuffers::slots(int rank, bool incoming) const {
  if (const auto& there = (incoming ? in_slots_ : out_slots_)[rank]) {
    return reinterpret_cast<std::byte*>(there->pointer());
  }
  return (incoming ? in_on_host(rank) : out_on_host(rank)) + layout_.slots_at();
}

void StagingBuffers::move_slots(int rank, bool incoming, bool to_gpu) {
  StagingBuffer& buffer = (incoming ? in_ : out_)[rank];
  auto& there = (incoming ? in_slots_ : out_slots_)[rank];
  there = to_gpu ? std::make_unique<cuda::Memory>(device_, slots_bytes()) : nullptr;
  buffer.slots =
      to_gpu ? reinterpret_cast<char*>(there->pointer()) : buffer.words + layout_.slots_at();
}

char* StagingBuffers::opened(int rank, const Lent& lent) {
  opened_.push_back(shm::Segment::open(lent.shared));
  const std::size_t size = opened_.back()->size();
  if (lent.at % 128 || lent.at > size || size - lent.at < layout_.buffer_bytes()) {
    throw Error(ErrorCode::kMismatch,
                "rank " + std::to_string(rank) + " sent an offset outside its shared memory");
  }
  return register_memory(*opened_.back());
}

}  // namespace railgauge::gpu
