// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/message_batches.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace railgauge::gpu {

std::vector<MessageBatch> in_batches(const std::vector<GpuMessage>& messages, int rank, int ranks) {
  std::map<std::pair<bool, int>, int> so_far;                    // by direction and peer
  std::map<std::pair<int, int>, std::vector<GpuMessage>> steps;  // by place in it, and distance
  for (const GpuMessage& one : messages) {
    const int way = one.sends ? one.peer - rank : rank - one.peer;
    steps[{so_far[{one.sends, one.peer}]++, (way + ranks) % ranks}].push_back(one);
  }
  std::vector<MessageBatch> batches;
  std::map<std::pair<bool, int>, std::size_t> queues;  // of the last batch, by direction and peer
  std::size_t count = 0;                               // of its messages
  for (const auto& [_, step] : steps) {
    const auto more = std::count_if(step.begin(), step.end(), [&](const GpuMessage& one) {
      return !queues.contains({one.sends, one.peer});
    });
    if (batches.empty() || count + step.size() > kMostMessages ||
        queues.size() + more > kMostQueues) {
      batches.emplace_back();
      queues.clear();
      count = 0;
    }
    MessageBatch& batch = batches.back();
    for (const GpuMessage& one : step) {
      const auto [queue, is_new] = queues.try_emplace({one.sends, one.peer}, batch.size());
      if (is_new) batch.emplace_back();
      batch[queue->second].push_back(one);
      ++count;
    }
  }
  return batches;
}

}  // namespace railgauge::gpu
