// SPDX-License-Identifier: Apache-2.0
// Sends and receives on a stream.
#include <algorithm>
#include <string>
#include <utility>

#include "collectives/native/gpu/engine.h"

namespace railgauge::gpu {

namespace {

constexpr std::uint32_t kMostParts = 32;  // blocks; the other multiprocessors compute meanwhile
constexpr unsigned kMessageThreads = 512;

// What a rank sends to itself, with the receives that take it: the first of the tag.
std::vector<std::pair<GpuMessage, GpuMessage>> to_itself(const std::vector<GpuMessage>& messages,
                                                         int rank) {
  std::vector<GpuMessage> sent, received;
  for (const GpuMessage& one : messages)
    if (one.peer == rank) (one.sends ? sent : received).push_back(one);
  std::vector<std::pair<GpuMessage, GpuMessage>> copies;
  for (const GpuMessage& one : sent) {
    const auto to = std::ranges::find(received, one.tag, &GpuMessage::tag);
    if (to == received.end()) break;
    if (one.bytes != to->bytes)
      throw Error(ErrorCode::kInvalid, "a message to the rank itself has " +
                                           std::to_string(one.bytes) + " bytes, its receive " +
                                           std::to_string(to->bytes));
    copies.emplace_back(one, *to);
    received.erase(to);
  }
  if (copies.size() != sent.size() || !received.empty())
    throw Error(ErrorCode::kInvalid,
                "a message to the rank itself: put its send and its receive into one group, with "
                "one tag");
  return copies;
}

}  // namespace

void Engine::run_messages(const std::vector<GpuMessage>& messages, cuda::Stream stream) {
  std::vector<GpuMessage> others;
  for (const GpuMessage& one : messages) {
    if (one.peer < 0 || one.peer >= ranks())
      throw Error(ErrorCode::kInvalid, "rank " + std::to_string(one.peer) + ": ranks are 0 to " +
                                           std::to_string(ranks() - 1));
    if (one.peer != rank_ && buffers_.via(one.peer) == Via::kNone)
      throw Error(ErrorCode::kInvalid,
                  "rank " + std::to_string(one.peer) + " is not reached: among " +
                      std::to_string(ranks()) +
                      " GPUs, each reaches only its neighbours in rings and trees");
    if (one.peer != rank_ && one.bytes) others.push_back(one);
  }
  const auto copies = to_itself(messages, rank_);
  in_turn(stream, [&] {
    for (const auto& [from, to] : copies) {
      if (!from.bytes) continue;
      cuda_.check(cuda_.memory_copy(reinterpret_cast<cuda::Pointer>(to.data),
                                    reinterpret_cast<cuda::Pointer>(from.data), from.bytes, stream),
                  "copying a message");
    }
    for (const MessageBatch& batch : in_batches(others, rank_, ranks()))
      launch_messages(batch, stream);
  });
  for (const GpuMessage& one : others) traffic_.add(one);
  for (auto& proxy : proxies_) proxy->wake();
}

void Engine::launch_messages(const MessageBatch& batch, cuda::Stream stream) {
  MessageArguments arguments{
      base(0), std::min({kMostParts, layout_.blocks, std::uint32_t(least_processors_)}), 0, {}, {}};
  int end = 0;
  std::uint32_t blocks = 1;
  for (const auto& queue : batch) {
    const int peer = queue.front().peer, begin = end;
    for (const GpuMessage& one : queue) {
      arguments.message[end++] = {reinterpret_cast<char*>(one.data), one.bytes, one.tag};
      blocks = std::max(blocks, message_parts(one.bytes, arguments.parts));
    }
    arguments.queue[arguments.queues++] = {
        buffers_.in(peer), buffers_.out(peer), peer, queue.front().sends, begin, end};
  }
  void* parameters[] = {&arguments};
  launch(kernels_->messages(), blocks, kMessageThreads, stream, parameters, "sends and receives");
}

}  // namespace railgauge::gpu
