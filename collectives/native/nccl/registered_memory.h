// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU that NCCL knows of, so that its kernels work on it where it lies.
#pragma once

#include "collectives/native/nccl/communicator.h"
#include "transports/native/cuda/memory.h"

namespace railgauge::nccl {

// What is said of it, as nccl-tests' -R.
enum class Registration : int {
  kNone,       // nothing: memory of the driver
  kBuffer,     // ncclMemAlloc and ncclCommRegister, 2.19
  kSymmetric,  // ncclMemAlloc and a window, at the same place on all ranks, 2.27
};

// Memory of the communicator's GPU; the communicator has to outlive it, and all ranks take theirs
// in one order. Error (kSystem): none is left, or this NCCL has no such registration.
std::unique_ptr<cuda::Memory> allocate(Communicator& comm, std::size_t size,
                                       Registration registration);

}  // namespace railgauge::nccl
