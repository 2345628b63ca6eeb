// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/communicator.h"

#include <algorithm>
#include <cstring>

#include "collectives/native/all_reduce.h"
#include "collectives/native/executor.h"
#include "collectives/native/reduce.h"
#include "transports/native/error.h"

namespace railgauge {

Communicator::Communicator(std::shared_ptr<Doorbell> doorbell, std::vector<RingChannel> channels,
                           Options options)
    : doorbell_(std::move(doorbell)), channels_(std::move(channels)), options_(options) {
  if (channels_.empty()) throw Error(ErrorCode::kInvalid, "a communicator needs a channel");
}

int Communicator::channels_for(std::size_t bytes) const {
  std::size_t worth = bytes / std::max<std::size_t>(1, options_.min_channel_bytes);
  return static_cast<int>(std::clamp<std::size_t>(worth, 1, channels_.size()));
}

void Communicator::all_reduce(const void* source, void* destination, std::size_t count, Dtype dtype,
                              Redop op) {
  const std::size_t element = dtype_bytes(dtype);
  const std::size_t bytes = count * element;
  auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(destination);
  if (channels_[0].ranks == 1) {
    if (from != to && bytes > 0) std::memcpy(to, from, bytes);
    return;
  }

  const int used = channels_for(bytes);
  // In place the destination has just been read, so its lines are at hand: streaming costs a tenth
  // there.
  const bool stream = bytes >= options_.stream_bytes && from != to;
  const std::size_t align = 64 / element;
  const std::size_t share = ((count + used - 1) / used + align - 1) / align * align;
  std::vector<Task> tasks;
  tasks.reserve(used);
  for (int i = 0; i < used; ++i) {
    const RingChannel& channel = channels_[i];
    std::size_t start = std::min(count, i * share);
    std::size_t length = std::min(count, start + share) - start;
    Primitives moves{
        .previous = channel.previous.get(),
        .next = channel.next.get(),
        .combine = combine_all(dtype, op),
        .divisor = op == Redop::kAvg ? channel.ranks : 0,
        .element_bytes = element,
        .stream = stream,
    };
    tasks.push_back(
        ring_all_reduce(channel, moves, from + start * element, to + start * element, length));
  }
  run_tasks(tasks, *doorbell_, {options_.timeout, options_.spin}, blocked_on_);
  if (stream) stream_fence();
}

}  // namespace railgauge
