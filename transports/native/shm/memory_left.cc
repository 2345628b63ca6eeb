// SPDX-License-Identifier: Apache-2.0
#include "transports/native/shm/memory_left.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

namespace railgauge::shm {

namespace {

using Path = std::filesystem::path;
constexpr std::size_t kUnlimited = ~std::size_t{0};

// The number after `key` in a file of lines "key number".
std::optional<std::size_t> value_of(const Path& file, const std::string& key) {
  std::ifstream lines(file);
  std::string name;
  for (std::size_t value; lines >> name;) {
    if (name == key && lines >> value) return value;
    lines.clear();
    std::getline(lines, name);
  }
  return std::nullopt;
}

std::optional<std::size_t> number_in(const Path& file) {
  std::size_t number;
  return std::ifstream(file) >> number ? std::optional(number) : std::nullopt;
}

// One group; "max" is no number.
std::size_t left_in(const Path& group) {
  const auto limit = number_in(group / "memory.max");
  if (!limit) return kUnlimited;
  const std::size_t cache = value_of(group / "memory.stat", "inactive_file").value_or(0);
  const std::size_t used = number_in(group / "memory.current").value_or(0);
  return *limit - std::min(*limit, used - std::min(used, cache));
}

}  // namespace

// The limits of a group hold for all groups below it.
std::size_t memory_left(const Path& root) {
  const auto kib = value_of(root / "proc/meminfo", "MemAvailable:");
  std::size_t left = kib ? *kib << 10 : kUnlimited;
  std::string line;
  std::getline(std::ifstream(root / "proc/self/cgroup"), line);
  if (line.rfind("0::/", 0) != 0) return left;
  const Path top = root / "sys/fs/cgroup";
  for (Path group = line.substr(4);; group = group.parent_path()) {
    left = std::min(left, left_in(top / group));
    if (group.empty()) return left;
  }
}

}  // namespace railgauge::shm
