// SPDX-License-Identifier: Apache-2.0
// Cross-memory attach: one process copies from another one's memory directly (process_vm_readv(2)).
// The kernel allows it to processes that may debug the other one: the same user, unless a security
// module (Yama), a container's filter of system calls, or another user namespace forbids it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace railgauge::shm {

// Lets all processes of this user read this one's memory where Yama restricts that to parents
// (prctl(2), PR_SET_PTRACER; ptrace_scope 1). Without Yama it has no effect.
void permit_cross_memory();

// Copies `bytes` from an address in process `pid`. False, with errno, when not all could be read.
bool read_cross_memory(int pid, std::byte* to, std::uint64_t address, std::size_t bytes);

}  // namespace railgauge::shm
