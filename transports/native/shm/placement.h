// SPDX-License-Identifier: Apache-2.0
// Where the pages of shared memory lie, and how large they are.
#pragma once

#include <sched.h>

#include <cstddef>
#include <filesystem>

namespace railgauge::shm {

inline constexpr std::size_t kHugePage = 2 << 20;

// The NUMA node that all these cores belong to, by Linux's sysfs; -1 if there are several, or if
// unknown.
int node_of(const cpu_set_t& cpus, const std::filesystem::path& nodes = "/sys/devices/system/node");
// The same of the cores that this thread may run on.
int node_of_this_thread();

// Prefers pages on `node` for memory that has none yet (mbind(2), MPOL_PREFERRED). False if the
// kernel or a container refuses, or there is no such node: the pages are then near the thread that
// first writes them.
bool prefer_node(std::byte* data, std::size_t size, int node);

// Allocates all pages now, so that too little memory is an error here, and not a SIGBUS at the
// first write. Throws Error(kSystem).
void populate(std::byte* data, std::size_t size);

// How many bytes of a mapping are in huge pages (proc(5), /proc/[pid]/smaps); `data` is its start.
std::size_t huge_bytes(const std::byte* data);

}  // namespace railgauge::shm
