// SPDX-License-Identifier: Apache-2.0
// How much memory shared segments may still take. Linux promises more than it has, and ends a
// process that takes it at its word; so large segments are held against this first.
#pragma once

#include <cstddef>
#include <filesystem>

namespace railgauge::shm {

// The least of what the machine has available (proc(5), MemAvailable) and what the control group
// (version 2: memory.max less memory.current, with the file cache that it could drop) leaves; all
// bits set where nothing tells. Files are looked for below `root`.
std::size_t memory_left(const std::filesystem::path& root = "/");

}  // namespace railgauge::shm
