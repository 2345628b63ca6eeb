// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/nccl_plugin/census.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace railgauge::nccl_plugin {
namespace {

constexpr std::size_t kMostBytes = 1 << 20, kMostValue = 1023;

// Assignments as a file has them: NAME=VALUE, each up to `separator`; null where there is no such
// file.
struct Assignments {
  char* text = nullptr;
  char separator = '\n';

  void read_file(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    text = static_cast<char*>(malloc(kMostBytes + 2));
    std::size_t length = 0;
    while (text && length < kMostBytes) {
      const ssize_t got = read(fd, text + length, kMostBytes - length);
      if (got <= 0) break;
      length += got;
    }
    if (text) text[length] = separator, text[length + 1] = 0;
    size = length;
    close(fd);
  }

  // Whether the first assignment of that name has that value; NCCL cuts those of files.
  bool has(const char* name, const char* value) const {
    const std::size_t name_bytes = strlen(name), value_bytes = strnlen(value, kMostValue);
    for (const char *line = text, *end = text + size; line && line < end;) {
      const auto* stop = static_cast<const char*>(memchr(line, separator, end - line + 1));
      if (!stop) return false;
      if (stop - line > static_cast<std::ptrdiff_t>(name_bytes) && line[name_bytes] == '=' &&
          !memcmp(line, name, name_bytes)) {
        line += name_bytes + 1;
        return stop - line >= static_cast<std::ptrdiff_t>(value_bytes) &&
               !memcmp(line, value, value_bytes) &&
               (line + value_bytes == stop || value_bytes == kMostValue);
      }
      line = stop + 1;
    }
    return false;
  }

  std::size_t size = 0;
};

Assignments environment, user_file, system_file;

void read_user_file() {
  if (const char* named = getenv("NCCL_CONF_FILE"); named && *named) {
    user_file.read_file(named);
    return;
  }
  char path[4096];
  const passwd* user = getpwuid(getuid());
  if (user && user->pw_dir &&
      snprintf(path, sizeof path, "%s/.nccl.conf", user->pw_dir) < static_cast<int>(sizeof path))
    user_file.read_file(path);
}

std::uint32_t origin_of(const char* name, const char* value) {
  if (!value) return kUnset;
  if (environment.has(name, value)) return kEnvironment;
  if (user_file.has(name, value)) return kUserFile;
  return system_file.has(name, value) ? kSystemFile : kProgram;
}

}  // namespace

void begin_census() {
  if (environment.text) return;
  environment.separator = '\0';
  environment.read_file("/proc/self/environ");
  read_user_file();
  system_file.read_file("/etc/nccl.conf");
}

void count_variable(Recording& recording, const char* name, const char* value) {
  for (Variable& variable : recording.tables().variables) {
    std::uint32_t state = variable.state.load(std::memory_order_acquire);
    if (state == 2 && !strncmp(variable.name, name, sizeof variable.name - 1)) {
      variable.reads.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    if (state == 0 && variable.state.compare_exchange_strong(state, 1)) {
      strncpy(variable.name, name, sizeof variable.name - 1);
      if (value) strncpy(variable.value, value, sizeof variable.value - 1);
      variable.length = value ? strlen(value) : 0;
      variable.origin = origin_of(name, value);
      variable.reads.store(1, std::memory_order_relaxed);
      variable.state.store(2, std::memory_order_release);
      return;
    }
  }
  recording.header().variables_lost.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace railgauge::nccl_plugin
