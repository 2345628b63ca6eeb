// SPDX-License-Identifier: Apache-2.0
// How the blocks of a kernel share a transfer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace railgauge::gpu {

// The part of a transfer that this block moves, cut into chunks; 0: in one.
template <class T>
class BlockPart {
 public:
  __device__ BlockPart(const void* data, std::size_t count, std::uint32_t chunk_bytes) {
    const std::size_t step = 128 / sizeof(T);
    const std::size_t each = ((count + gridDim.x - 1) / gridDim.x + step - 1) / step * step;
    const std::size_t begin = min(count, blockIdx.x * each);
    data_ = static_cast<T*>(const_cast<void*>(data)) + begin;
    count_ = min(count, begin + each) - begin;
    chunk_ = chunk_bytes ? chunk_bytes / sizeof(T) : max(count_, std::size_t(1));
  }
  __device__ std::uint32_t chunks() const { return (count_ + chunk_ - 1) / chunk_; }
  __device__ T* chunk(std::uint32_t number) const { return data_ + number * chunk_; }
  __device__ std::size_t count(std::uint32_t number) const {
    return min(chunk_, count_ - number * chunk_);
  }

 private:
  T* data_;
  std::size_t count_, chunk_;
};

}  // namespace railgauge::gpu
