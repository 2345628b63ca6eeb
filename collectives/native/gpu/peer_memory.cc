// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/peer_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace railgauge::gpu {

namespace {

constexpr unsigned kEnablePeerAccess = 1;  // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
constexpr cuda::Result kPeerAccessAlreadyEnabled = 704;
constexpr const char* kWhatIpcTakes =
    " (CUDA IPC: containers need one IPC and pid namespace; NCCL_P2P_DISABLE=1 goes through host "
    "memory)";

}  // namespace

PeerMemory::~PeerMemory() {
  const cuda::Current current(context_);
  for (const Mapped& one : mapped_) cuda_.ipc_close(one.there);
  for (const cuda::Device one : retained_) cuda_.context_release(one);
}

Lent PeerMemory::lent(Via via, cuda::Pointer allocation) const {
  const cuda::Current current(context_);
  Lent lent{};
  lent.process = getpid();
  lent.device = allocation;
  cuda_.check(cuda_.device_bus_id(lent.bus_id, sizeof lent.bus_id, device_),
              "asking a GPU for its bus id");
  if (via == Via::kIpc) {
    cuda_.check(cuda_.ipc_export(&lent.handle, allocation),
                std::string("lending memory of a GPU to other processes") + kWhatIpcTakes);
  }
  return lent;
}

char* PeerMemory::open(int rank, Via via, const Lent& lent) {
  const std::string whom = "the GPU of rank " + std::to_string(rank) + " (" + lent.bus_id + ")";
  const cuda::Current current(context_);
  if (via == Via::kIpc) {
    auto found = mapped(lent);
    if (found == mapped_.end()) {
      cuda::Pointer there;
      cuda_.check(cuda_.ipc_import(&there, lent.handle, kEnablePeerAccess),
                  "mapping memory of " + whom + kWhatIpcTakes);
      found = mapped_.insert(found, {lent, there, 0});
    }
    ++found->users;
    return reinterpret_cast<char*>(found->there);
  }
  cuda::Device device;
  cuda_.check(cuda_.device_by_bus_id(&device, lent.bus_id), "finding " + whom);
  if (device != device_ && std::ranges::find(retained_, device) == retained_.end()) {
    cuda::Context context;
    cuda_.check(cuda_.context_retain(&context, device), "opening " + whom);
    retained_.push_back(device);
    const cuda::Result result = cuda_.enable_peer_access(context, 0);
    if (result != kPeerAccessAlreadyEnabled) cuda_.check(result, "reaching " + whom);
  }
  return reinterpret_cast<char*>(lent.device);
}

void PeerMemory::close(const Lent& lent) {
  const auto found = mapped(lent);
  if (found == mapped_.end() || --found->users) return;
  const cuda::Current current(context_);
  cuda_.ipc_close(found->there);
  mapped_.erase(found);
}

std::vector<PeerMemory::Mapped>::iterator PeerMemory::mapped(const Lent& lent) {
  return std::ranges::find_if(mapped_, [&](const Mapped& one) {
    return one.lent.process == lent.process && one.lent.device == lent.device &&
           !std::memcmp(&one.lent.handle, &lent.handle, sizeof lent.handle);
  });
}

}  // namespace railgauge::gpu
