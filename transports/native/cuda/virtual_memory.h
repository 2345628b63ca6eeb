// SPDX-License-Identifier: Apache-2.0
// Memory of GPUs as the driver's virtual memory management has it: allocations, and ranges of
// addresses in which they are mapped one behind the other. PyTorch's expandable segments are such
// ranges.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "transports/native/cuda/driver.h"
#include "transports/native/cuda/gpu.h"
#include "transports/native/cuda/shareable.h"

namespace railgauge::cuda {

// What one mapping of a range maps: an allocation from its start on.
struct MappedPiece {
  Shareable memory;
  std::size_t bytes;
};

// A new one of at least so many bytes of a GPU, which other processes can map by one of these types
// of handles. Error (kSystem): the driver or the GPU has no such memory, or not so much.
MappedPiece created(const Gpu& gpu, std::size_t bytes, int handle_types, const std::string& what);

// Memory of this process that holds an array: of cudaMalloc, or what can go to other processes, in
// pieces; of a pool it is one.
struct Backing {
  Pointer begin;
  std::size_t bytes;
  std::vector<MappedPiece> pieces;
};

// Error (kSystem): this is no memory of the current GPU; `what` names the step.
Backing backing_of(Pointer pointer, std::size_t bytes, const std::string& what);

// Gives a GPU access to memory of pieces, on any GPU of this process.
void allow_access(Device device, Pointer begin, std::size_t bytes, const std::string& what);

// Pieces mapped one behind the other, to which a GPU has access.
class MappedRange {
 public:
  // `what` names the step in messages. Error (kSystem): they cannot be mapped.
  MappedRange(const Gpu& gpu, const std::vector<MappedPiece>& pieces, const std::string& what);
  // Waits for the GPU first: unmapping does not, and kernels may still use it.
  ~MappedRange();
  MappedRange(const MappedRange&) = delete;
  MappedRange& operator=(const MappedRange&) = delete;

  Pointer pointer() const { return begin_; }

 private:
  void unmap();

  const Context context_;
  Pointer begin_ = 0;
  std::size_t reserved_ = 0;
  std::vector<std::size_t> mapped_;  // bytes of each
};

}  // namespace railgauge::cuda
