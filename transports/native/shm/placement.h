// SPDX-License-Identifier: Apache-2.0
// Where the pages of shared memory lie, and how large they are.
#pragma once

#include <sched.h>

#include <cstddef>
#include <filesystem>

namespace railgauge::shm {

inline constexpr std::size_t kHugePage = 2 << 20;

// The NUMA node that all these cores belong to, by Linux' sysfs; -1 where they are of several, or
// nothing tells.
int node_of(const cpu_set_t& cpus, const std::filesystem::path& nodes = "/sys/devices/system/node");
// The same of the cores that this thread may run on.
int node_of_this_thread();

// Asks for pages on `node`, where it has any left, for memory that has none yet (mbind(2),
// MPOL_PREFERRED). False where the kernel or a container refuses, or there is no such node: the
// pages then lie near the thread that first writes them.
bool prefer_node(std::byte* data, std::size_t size, int node);

// Makes all pages exist now, so that a machine without memory for them says so here, and does not
// end the process by SIGBUS at the first write. Throws Error(kSystem).
void populate(std::byte* data, std::size_t size);

// How many bytes of a mapping lie in huge pages (proc(5), /proc/[pid]/smaps); `data` is its begin.
std::size_t huge_bytes(const std::byte* data);

}  // namespace railgauge::shm
