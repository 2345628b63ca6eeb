// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/executor.h"

#include <string>

namespace railgauge {

namespace {

// Steps every unfinished task once; returns whether any moved.
bool step_all(std::span<Task> tasks, std::size_t& unfinished) {
  bool moved = false;
  for (Task& task : tasks) {
    if (task.done() || !task.step()) continue;
    moved = true;
    if (task.done()) --unfinished;
  }
  return moved;
}

BlockedOn first_blocked(std::span<Task> tasks) {
  for (Task& task : tasks) {
    if (task.done()) continue;
    if (BlockedOn on = task.blocked_on(); on.rank >= 0) return on;
  }
  return {};
}

std::string describe(std::span<Task> tasks) {
  std::string text;
  for (Task& task : tasks) {
    if (task.done()) continue;
    const BlockedOn on = task.blocked_on();
    if (on.rank < 0) continue;
    text += (text.empty() ? "channel " : ", channel ") + std::to_string(on.channel) +
            " waits at step " + std::to_string(on.step) + " for " +
            (on.frees_slot ? "a free slot" : "data") + " from rank " + std::to_string(on.rank);
  }
  return text;
}

}  // namespace

void run_tasks(std::span<Task> tasks, Waiting& waiting) try {
  std::size_t unfinished = tasks.size();
  while (unfinished > 0) {
    waiting.until([&] { return step_all(tasks, unfinished); }, [&] { return first_blocked(tasks); },
                  [&] { return describe(tasks); });
  }
  waiting.settle();
} catch (...) {
  waiting.give_up();
  throw;
}

}  // namespace railgauge
