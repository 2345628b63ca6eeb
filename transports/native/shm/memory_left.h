// SPDX-License-Identifier: Apache-2.0
// How much memory is left for shared segments. Linux overcommits, and kills a process that uses
// more than there is; so large segments are checked against this first.
#pragma once

#include <cstddef>
#include <filesystem>

namespace railgauge::shm {

// The least of what the machine has available (proc(5), MemAvailable) and what the control group
// (version 2: memory.max less memory.current, with the file cache that it could drop) leaves; all
// bits set if unknown. Files are read below `root`.
std::size_t memory_left(const std::filesystem::path& root = "/");

}  // namespace railgauge::shm
