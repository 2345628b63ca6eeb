// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU registered with NCCL, so that its kernels work on it in place.
#pragma once

#include "collectives/native/nccl/communicator.h"
#include "transports/native/cuda/memory.h"

namespace railgauge::nccl {

// The kind of registration, as nccl-tests' -R.
enum class RegistrationKind : int {
  kNone,       // nothing: memory of the driver
  kBuffer,     // ncclMemAlloc and ncclCommRegister, 2.19
  kSymmetric,  // ncclMemAlloc and ncclCommWindowRegister, at the same offset on all ranks, 2.27
};

// Memory of the communicator's GPU; the communicator has to outlive it, and all ranks take theirs
// in one order. Error (kSystem): there is none left, or this NCCL has no such registration.
std::unique_ptr<cuda::Memory> allocate(NcclCommunicator& comm, std::size_t size,
                                       RegistrationKind registration);

}  // namespace railgauge::nccl
