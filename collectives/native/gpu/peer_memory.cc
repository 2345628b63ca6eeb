// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/peer_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace railgauge::gpu {

namespace {

constexpr cuda::Result kPeerAccessAlreadyEnabled = 704;
constexpr const char* kWhatIpcTakes =
    " (CUDA IPC: containers need one IPC and pid namespace; NCCL_P2P_DISABLE=1 goes through host "
    "memory)";

}  // namespace

Lent PeerMemory::lent(Via via, cuda::Pointer allocation) const {
  const cuda::Current current(gpu_.context());
  Lent lent{};
  lent.process = getpid();
  lent.device = allocation;
  cuda_.check(cuda_.device_bus_id(lent.bus_id, sizeof lent.bus_id, gpu_.device()),
              "asking a GPU for its bus id");
  if (via == Via::kIpc) {
    cuda_.check(cuda_.ipc_export(&lent.handle, allocation),
                std::string("lending memory of a GPU to other processes") + kWhatIpcTakes);
  }
  return lent;
}

char* PeerMemory::open(int rank, Via via, const Lent& lent) {
  const std::string whom = "the GPU of rank " + std::to_string(rank) + " (" + lent.bus_id + ")";
  if (via == Via::kIpc) {
    auto found = mapped(lent);
    if (found == mapped_.end()) {
      auto memory = std::make_unique<cuda::Mapped>(gpu_.context(), lent.handle,
                                                   "mapping memory of " + whom + kWhatIpcTakes);
      found = mapped_.insert(found, {lent, std::move(memory), 0});
    }
    ++found->users;
    return reinterpret_cast<char*>(found->memory->pointer());
  }
  cuda::Device device;
  cuda_.check(cuda_.device_by_bus_id(&device, lent.bus_id), "finding " + whom);
  const auto is_open = [&](const auto& gpu) { return gpu->device() == device; };
  if (device != gpu_.device() && std::ranges::none_of(others_, is_open)) {
    others_.push_back(std::make_unique<cuda::Gpu>(device, whom));
    const cuda::Current current(gpu_.context());
    const cuda::Result result = cuda_.enable_peer_access(others_.back()->context(), 0);
    if (result != kPeerAccessAlreadyEnabled) cuda_.check(result, "reaching " + whom);
  }
  return reinterpret_cast<char*>(lent.device);
}

void PeerMemory::close(const Lent& lent) {
  const auto found = mapped(lent);
  if (found != mapped_.end() && !--found->users) mapped_.erase(found);
}

std::vector<PeerMemory::Mapped>::iterator PeerMemory::mapped(const Lent& lent) {
  return std::ranges::find_if(mapped_, [&](const Mapped& one) {
    return one.lent.process == lent.process && one.lent.device == lent.device &&
           !std::memcmp(&one.lent.handle, &lent.handle, sizeof lent.handle);
  });
}

}  // namespace railgauge::gpu
