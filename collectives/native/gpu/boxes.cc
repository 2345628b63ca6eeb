// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/boxes.h"

#include <unistd.h>

#include <cstring>
#include <string>

namespace railgauge::gpu {

namespace {

constexpr unsigned kEnablePeerAccess = 1;      // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
constexpr unsigned kMappedEverywhere = 1 | 2;  // CU_MEMHOSTREGISTER_PORTABLE, _DEVICEMAP
constexpr cuda::Result kPeerAccessAlreadyEnabled = 704;

bool in_gpu(Via via) { return via == Via::kDirect || via == Via::kIpc; }
bool on_host(Via via) { return via == Via::kShm || via == Via::kNet; }

}  // namespace

Boxes::Boxes(cuda::Context context, cuda::Device device, const Layout& layout, std::vector<Via> via)
    : context_(context),
      device_(device),
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
  for (const cuda::Pointer one : mapped_) cuda_.ipc_close(one);
  for (void* one : registered_) cuda_.host_unregister(one);
  if (here_) cuda_.memory_free(here_);
  for (const cuda::Device one : retained_) cuda_.context_release(one);
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
  const cuda::Current current(context_);
  Lent lent{};
  lent.process = getpid();
  lent.at = at_[rank];
  lent.device = here_;
  cuda_.check(cuda_.device_bus_id(lent.bus_id, sizeof lent.bus_id, device_),
              "asking a GPU for its bus id");
  if (via_[rank] == Via::kIpc) {
    cuda_.check(cuda_.ipc_export(&lent.handle, here_),
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
  const cuda::Current current(context_);
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
    cuda::Pointer there;
    cuda_.check(cuda_.ipc_import(&there, lent.handle, kEnablePeerAccess),
                "mapping memory of " + whom +
                    " (CUDA IPC: containers need one IPC and pid namespace; NCCL_P2P_DISABLE=1 "
                    "goes through host memory)");
    mapped_.push_back(there);
    return reinterpret_cast<char*>(there);
  }
  cuda::Device device;
  cuda::Context context;
  cuda_.check(cuda_.device_by_bus_id(&device, lent.bus_id), "finding " + whom);
  if (device == device_) return reinterpret_cast<char*>(lent.device);
  cuda_.check(cuda_.context_retain(&context, device), "opening " + whom);
  retained_.push_back(device);
  const cuda::Result result = cuda_.enable_peer_access(context, 0);
  if (result != kPeerAccessAlreadyEnabled) cuda_.check(result, "reaching " + whom);
  return reinterpret_cast<char*>(lent.device);
}

}  // namespace railgauge::gpu
