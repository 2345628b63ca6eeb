// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/boxes.h"

#include <cstring>
#include <string>

namespace railgauge::gpu {

namespace {

constexpr unsigned kMappedEverywhere = 1 | 2;  // CU_MEMHOSTREGISTER_PORTABLE, _DEVICEMAP

bool on_host(Via via) { return via == Via::kShm || via == Via::kNet; }

}  // namespace

Boxes::Boxes(cuda::Context context, PeerMemory& peers, const Layout& layout, std::vector<Via> via)
    : context_(context),
      peers_(peers),
      via_(std::move(via)),
      at_(via_.size()),
      in_(via_.size()),
      out_(via_.size()) {
  const cuda::Current current(context_);
  std::size_t in_this_gpu = 0, in_host = 0;
  bool has_net = false;
  for (std::size_t rank = 0; rank < via_.size(); ++rank) {
    if (via_[rank] == Via::kNone) continue;
    std::size_t& end = in_gpu(via_[rank]) ? in_this_gpu : in_host;
    at_[rank] = end;
    end += layout.box_bytes();
    has_net |= via_[rank] == Via::kNet;
  }
  if (in_this_gpu) {
    cuda_.check(cuda_.memory_allocate(&here_, in_this_gpu),
                "taking " + std::to_string(in_this_gpu) + " bytes of a GPU");
    cuda_.check(cuda_.memory_set(here_, 0, in_this_gpu), "clearing memory of a GPU");
  }
  char* shared = nullptr;
  if (in_host) {
    shared_ = shm::Segment::create_resident(in_host);
    shared = register_memory(*shared_);
  }
  if (has_net) {
    leaving_ = shm::Segment::create_resident(in_host);
    leaving_here_ = register_memory(*leaving_);
  }
  for (std::size_t rank = 0; rank < via_.size(); ++rank) {
    if (in_gpu(via_[rank])) in_[rank] = reinterpret_cast<char*>(here_) + at_[rank];
    if (on_host(via_[rank])) in_[rank] = shared + at_[rank];
    if (via_[rank] == Via::kNet) out_[rank] = leaving_here_ + at_[rank];
  }
}

Boxes::~Boxes() {
  const cuda::Current current(context_);
  for (void* one : registered_) cuda_.host_unregister(one);
  if (here_) cuda_.memory_free(here_);
}

char* Boxes::register_memory(shm::Segment& segment) {
  cuda_.check(cuda_.host_register(segment.data(), segment.size(), kMappedEverywhere),
              "pinning " + std::to_string(segment.size()) + " bytes of host memory");
  registered_.push_back(segment.data());
  cuda::Pointer there = 0;
  cuda_.check(cuda_.host_pointer(&there, segment.data(), 0), "mapping host memory into a GPU");
  return reinterpret_cast<char*>(there);
}

Lent Boxes::lent(int rank) const {
  Lent lent = peers_.lent(via_[rank], here_);
  lent.at = at_[rank];
  if (via_[rank] == Via::kShm) {
    const std::string descriptor = shared_->descriptor();
    std::strncpy(lent.shared, descriptor.c_str(), sizeof lent.shared - 1);
  }
  return lent;
}

void Boxes::open(const std::vector<Lent>& lent) {
  if (lent.size() != via_.size()) {
    throw Error(ErrorCode::kInvalid, "what every rank lends is needed");
  }
  const cuda::Current current(context_);
  for (std::size_t rank = 0; rank < via_.size(); ++rank) {
    if (via_[rank] == Via::kNone || via_[rank] == Via::kNet) continue;
    out_[rank] = opened(static_cast<int>(rank), lent[rank]) + lent[rank].at;
  }
}

char* Boxes::opened(int rank, const Lent& lent) {
  if (in_gpu(via_[rank])) return peers_.open(rank, via_[rank], lent);
  opened_.push_back(shm::Segment::open(lent.shared));
  return register_memory(*opened_.back());
}

}  // namespace railgauge::gpu
