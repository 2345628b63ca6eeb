// SPDX-License-Identifier: Apache-2.0
// Sends and receives of one rank, all at the same time. Each block has a part of every message, and
// each queue, the messages of one direction between two ranks, has warps of its own: no message
// waits for one of another peer or direction, and no block for another one. A message goes to the
// first receive with its tag among those of its queue that none has taken.
#pragma once

#include "connection.cuh"

namespace railgauge::gpu {

inline constexpr int kMessageThreads = crew_of(1) * (kMostQueues + 1);

// What the threads of a block share: of each queue, whether it has ended early.
struct MessageShared {
  int stops[kMostQueues];
};

// This block's part of a message, in chunks, the first of which begins with a MessageHead. Both
// ends cut by the length alone.
struct MessagePart {
  char* data;
  std::size_t bytes, chunk;
  std::size_t with_head;  // 0: no part

  __device__ MessagePart(const KernelMessage& message, const MessageArguments& a) {
    const std::size_t parts = message_parts(message.bytes, a.parts),
                      most = a.base.layout.slot_bytes;
    const std::size_t each = ((message.bytes + parts - 1) / parts + 127) / 128 * 128;
    const std::size_t begin = min(message.bytes, blockIdx.x * each);
    data = message.data + begin;
    bytes = min(message.bytes, begin + each) - begin;
    with_head = bytes ? kHeadBytes + bytes : 0;
    // In two at least, so that one moves on while the next one comes.
    chunk = min(most, max((each + kHeadBytes + 1023) / 2 / 512 * 512, std::size_t(16) << 10));
  }
};

// The slot has every alignment; the other end of a copy has the array's.
__device__ inline void copy_bytes(const Crew& crew, char* to, const char* from, std::size_t bytes) {
  const auto of_both =
      reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
  if ((of_both | bytes) % sizeof(std::uint32_t) == 0)
    copy(crew, reinterpret_cast<std::uint32_t*>(to), reinterpret_cast<const std::uint32_t*>(from),
         bytes / sizeof(std::uint32_t));
  else
    copy(crew, reinterpret_cast<std::uint8_t*>(to), reinterpret_cast<const std::uint8_t*>(from),
         bytes);
}

__device__ inline void send_queue(const MessageArguments& a, const PeerQueue& queue,
                                  const Crew& crew, volatile int& stop) {
  const KernelConnection to(a.base, KernelConnection::kGive, queue.in, queue.out);
  std::uint32_t number = to.sent();
  Patience patience(a.base);
#pragma unroll 1
  for (int i = queue.begin; i < queue.end; ++i) {
    const MessagePart part(a.message[i], a);
#pragma unroll 1
    for (std::size_t at = 0; at < part.with_head; at += part.chunk, ++number) {
      const std::size_t bytes = min(part.chunk, part.with_head - at), skip = at ? 0 : kHeadBytes;
      const bool fine = crew.thread || to.await_room(number, queue.number, patience);
      if (!all_go_on(crew, fine, stop)) return;
      if (skip && crew.thread == 0)
        *to.outgoing<MessageHead>(number) = {a.message[i].bytes, a.message[i].tag};
      copy_bytes(crew, to.outgoing<char>(number) + skip, part.data + at + skip - kHeadBytes,
                 bytes - skip);
      crew.meet();
      if (crew.thread == 0) to.tell_sent(number, bytes);
    }
  }
  crew.meet();
  if (crew.thread == 0) to.sent() = number;
}

// The receives of a queue that have a part for this block, by their bits.
__device__ inline std::uint64_t receives_here(const MessageArguments& a, const PeerQueue& queue) {
  std::uint64_t here = 0;
#pragma unroll 1
  for (int i = queue.begin; i < queue.end; ++i)
    if (blockIdx.x == 0 || MessagePart(a.message[i], a).bytes) here |= std::uint64_t(1) << i;
  return here;
}

__device__ inline MessageHead head_of(const KernelConnection& from, std::uint32_t number) {
  const Vector word = __ldcs(from.incoming<Vector>(number));
  return {word.x | std::uint64_t(word.y) << 32, word.z};
}

__device__ inline void receive_queue(const MessageArguments& a, const PeerQueue& queue,
                                     const Crew& crew, volatile int& stop) {
  const KernelConnection from(a.base, KernelConnection::kGive, queue.in, queue.out);
  std::uint32_t number = from.received();
  Patience patience(a.base);
  const auto comes = [&] {
    const bool fine = crew.thread || from.await_message(number, queue.number, patience);
    return all_go_on(crew, fine, stop);
  };
  std::uint64_t left = receives_here(a, queue);
#pragma unroll 1
  while (left) {
    if (!comes()) return;
    const MessageHead head = head_of(from, number);
    int i = queue.begin;
    while (i < queue.end && !(left >> i & 1 && a.message[i].tag == head.tag)) ++i;
    if (i == queue.end || a.message[i].bytes != head.bytes) {
      const std::uint64_t from_peer = 1u + queue.number;
      if (crew.thread) return;
      if (i == queue.end)
        store_relaxed(&a.base.status->untaken, from_peer << 32 | head.tag);
      else
        store_relaxed(&a.base.status->unequal, static_cast<std::uint32_t>(from_peer));
      store_release(&a.base.status->failed,
                    static_cast<std::uint32_t>(from_peer));  // end all waits
      return;
    }
    left &= ~(std::uint64_t(1) << i);
    const MessagePart part(a.message[i], a);
#pragma unroll 1
    for (std::size_t at = 0; at < part.with_head; at += part.chunk, ++number) {
      if (at && !comes()) return;
      const std::size_t bytes = min(part.chunk, part.with_head - at), skip = at ? 0 : kHeadBytes;
      copy_bytes(crew, part.data + at + skip - kHeadBytes, from.incoming<char>(number) + skip,
                 bytes - skip);
      crew.meet();
      if (crew.thread == 0) from.tell_read(number);
    }
  }
  crew.meet();
  if (crew.thread == 0) from.received() = number;
}

__device__ inline void messages(const MessageArguments& a, MessageShared& shared) {
  if (threadIdx.x < kMostQueues) shared.stops[threadIdx.x] = 0;
  __syncthreads();
  const int size = static_cast<int>(blockDim.x) / kWarp / a.queues * kWarp;
  const int number = static_cast<int>(threadIdx.x) / size;
  if (number >= a.queues) return;
  const Crew crew{1 + number, size, static_cast<int>(threadIdx.x) - number * size};
  const PeerQueue& queue = a.queue[number];
  if (queue.sends)
    send_queue(a, queue, crew, shared.stops[number]);
  else
    receive_queue(a, queue, crew, shared.stops[number]);
}

}  // namespace railgauge::gpu
