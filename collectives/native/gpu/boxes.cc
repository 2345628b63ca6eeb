// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/boxes.h"

#include <unistd.h>

#include <cstring>
#include <string>

namespace railgauge::gpu {

namespace {

constexpr cuda::Result kPeerAccessAlreadyEnabled = 704;

bool in_gpu(Via via) { return via == Via::kDirect || via == Via::kIpc; }
bool on_host(Via via) { return via == Via::kShm || via == Via::kNet; }

}  // namespace

Boxes::Boxes(int device, const Layout& layout, std::vector<Via> via)
    : gpu_(device), via_(std::move(via)), at_(via_.size()), in_(via_.size()), out_(via_.size()) {
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
    here_.emplace(device, in_this_gpu);
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
    if (in_gpu(via_[rank])) in_[rank] = reinterpret_cast<char*>(here_->pointer()) + at_[rank];
    if (on_host(via_[rank])) in_[rank] = shared + at_[rank];
    if (via_[rank] == Via::kNet) out_[rank] = leaving + at_[rank];
  }
}

char* Boxes::register_memory(shm::Segment& segment) {
  registered_.push_back(
      std::make_unique<cuda::Registered>(gpu_.context(), segment.data(), segment.size()));
  return registered_.back()->there();
}

Lent Boxes::lent(int rank) const {
  const cuda::Current current(gpu_.context());
  Lent lent{};
  lent.process = getpid();
  lent.at = at_[rank];
  lent.device = here_ ? here_->pointer() : 0;
  cuda_.check(cuda_.device_bus_id(lent.bus_id, sizeof lent.bus_id, gpu_.device()),
              "asking a GPU for its bus id");
  if (via_[rank] == Via::kIpc) {
    cuda_.check(cuda_.ipc_export(&lent.handle, lent.device),
                "lending memory of a GPU to other processes (CUDA IPC: containers need one IPC "
                "and pid namespace; NCCL_P2P_DISABLE=1 goes through host memory)");
  }
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
  const cuda::Current current(gpu_.context());
  for (std::size_t rank = 0; rank < via_.size(); ++rank) {
    if (via_[rank] == Via::kNone || via_[rank] == Via::kNet) continue;
    out_[rank] = opened(static_cast<int>(rank), lent[rank]) + lent[rank].at;
  }
}

char* Boxes::opened(int rank, const Lent& lent) {
  const std::string whom = "the GPU of rank " + std::to_string(rank) + " (" + lent.bus_id + ")";
  if (via_[rank] == Via::kShm) {
    opened_.push_back(shm::Segment::open(lent.shared));
    return register_memory(*opened_.back());
  }
  if (via_[rank] == Via::kIpc) {
    mapped_.push_back(std::make_unique<cuda::Mapped>(
        gpu_.context(), lent.handle,
        "mapping memory of " + whom +
            " (CUDA IPC: containers need one IPC and pid namespace; NCCL_P2P_DISABLE=1 goes "
            "through host memory)"));
    return reinterpret_cast<char*>(mapped_.back()->pointer());
  }
  cuda::Device device;
  cuda_.check(cuda_.device_by_bus_id(&device, lent.bus_id), "finding " + whom);
  if (device == gpu_.device()) return reinterpret_cast<char*>(lent.device);
  peers_.push_back(std::make_unique<cuda::Gpu>(device, whom));
  const cuda::Result result = cuda_.enable_peer_access(peers_.back()->context(), 0);
  if (result != kPeerAccessAlreadyEnabled) cuda_.check(result, "reaching " + whom);
  return reinterpret_cast<char*>(lent.device);
}

}  // namespace railgauge::gpu
