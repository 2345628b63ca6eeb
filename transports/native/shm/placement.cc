// SPDX-License-Identifier: Apache-2.0
#include "transports/native/shm/placement.h"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "transports/native/error.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

namespace railgauge::shm {

namespace {

constexpr int kMostNodes = 1024;  // MAX_NUMNODES of the largest kernels

// The cores in a list like "0-3,8".
cpu_set_t cpus_in(const std::string& list) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  std::istringstream ranges(list);
  for (std::string range; std::getline(ranges, range, ',');) {
    int first = 0, last = 0;
    const int found = std::sscanf(range.c_str(), "%d-%d", &first, &last);
    if (found < 1) continue;
    for (int cpu = first; cpu <= (found == 2 ? last : first); ++cpu) CPU_SET(cpu, &cpus);
  }
  return cpus;
}

}  // namespace

int node_of(const cpu_set_t& cpus, const std::filesystem::path& nodes) {
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(nodes, absent)) {
    int node = -1;
    if (std::sscanf(entry.path().filename().c_str(), "node%d", &node) != 1) continue;
    std::ifstream file(entry.path() / "cpulist");
    std::string list;
    std::getline(file, list);
    const cpu_set_t there = cpus_in(list);
    cpu_set_t both;
    CPU_AND(&both, &cpus, &there);
    if (CPU_COUNT(&both) == 0) continue;
    return CPU_EQUAL(&both, &cpus) ? node : -1;
  }
  return -1;
}

int node_of_this_thread() {
  cpu_set_t cpus;
  return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? node_of(cpus) : -1;
}

bool prefer_node(std::byte* data, std::size_t size, int node) {
  if (node < 0 || node >= kMostNodes) return false;
  constexpr int kBits = 8 * sizeof(unsigned long);
  unsigned long mask[kMostNodes / kBits] = {};
  mask[node / kBits] = 1UL << node % kBits;
  return syscall(SYS_mbind, data, size, MPOL_PREFERRED, mask, kMostNodes + 1, 0) == 0;
}

void populate(std::byte* data, std::size_t size) {
  if (madvise(data, size, MADV_POPULATE_WRITE) == 0) return;
  if (errno != EINVAL) {
    throw system_error("no memory for " + std::to_string(size) + " bytes of shared memory");
  }
  std::memset(data, 0, size);  // before Linux 5.14
}

std::size_t huge_bytes(const std::byte* data) {
  std::ifstream smaps("/proc/self/smaps");
  bool here = false;
  std::size_t kib = 0;
  for (std::string line; std::getline(smaps, line);) {
    std::uintptr_t first = 0, last = 0;
    std::size_t some = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &first, &last) == 2) {
      if (here) break;
      here = first == reinterpret_cast<std::uintptr_t>(data);
    } else if (here && (std::sscanf(line.c_str(), "ShmemPmdMapped: %zu", &some) == 1 ||
                        std::sscanf(line.c_str(), "Shared_Hugetlb: %zu", &some) == 1 ||
                        std::sscanf(line.c_str(), "Private_Hugetlb: %zu", &some) == 1)) {
      kib += some;
    }
  }
  return kib << 10;
}

}  // namespace railgauge::shm
