// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/multicast.h"

#include <utility>

#include "transports/native/cuda/waiting.h"

namespace railgauge::cuda {

namespace {

constexpr int kMulticast = 132;  // CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED
constexpr const char* kWhatItTakes =
    " (is nvidia-fabricmanager running? RAILGAUGE_MULTICAST=0 does without)";

}  // namespace

std::string why_no_multicast(int device) {
  const Driver& cuda = Driver::get();
  if (!cuda.multicast_create || !cuda.multicast_add || !cuda.multicast_bind ||
      !cuda.multicast_unbind) {
    return "libcuda.so.1 has no cuMulticastCreate: it needs CUDA 12.1";
  }
  return Gpu(device).attribute(kMulticast) ? "" : "the GPU or its driver does not support it";
}

MappedPiece multicast_object(int gpus, std::size_t bytes) {
  const Driver& cuda = Driver::get();
  const MulticastProperties properties{static_cast<unsigned>(gpus), bytes, kAsDescriptor, 0};
  MemoryHandle handle;
  cuda.check(cuda.multicast_create(&handle, &properties),
             "cuMulticastCreate for " + std::to_string(gpus) + " GPUs" + kWhatItTakes);
  return {Shareable(handle), bytes};
}

MulticastMember::MulticastMember(const Gpu& gpu, MappedPiece object) : gpu_(gpu) {
  object_.push_back(std::move(object));
  cuda_.check(cuda_.multicast_add(handle(), gpu_.device()),
              std::string("cuMulticastAddDevice") + kWhatItTakes);
}

MulticastMember::~MulticastMember() {
  range_.reset();
  if (const Closing gpu(gpu_.context()); gpu && is_bound_)
    cuda_.multicast_unbind(handle(), gpu_.device(), 0, object_[0].bytes);
}

void MulticastMember::bind(const MappedPiece& memory) {
  const Current current(gpu_.context());
  cuda_.check(cuda_.multicast_bind(handle(), 0, memory.memory.handle(), 0, memory.bytes, 0),
              std::string("cuMulticastBindMem") + kWhatItTakes);
  is_bound_ = true;
  range_.emplace(gpu_, object_, "mapping a multicast object");
}

}  // namespace railgauge::cuda
