// SPDX-License-Identifier: Apache-2.0
// All-reduce over trees: inputs are reduced on their way up to the root, the result goes down. Each
// block runs a part of the data on one channel's tree; half of its threads carry up and the other
// half down, at the same time.
#pragma once

#include "connection.cuh"
#include "ring.cuh"

namespace railgauge::gpu {

inline constexpr int kTreeCrew = crew_of(8), kTreeThreads = 2 * kTreeCrew;

// One rank's connections in one direction.
class TreeEnds {
 public:
  __device__ TreeEnds(const ChannelArguments& a, KernelConnection::Kind kind)
      : a_(a), place_(a.channel[blockIdx.x % a.channels]), kind_(kind) {}
  __device__ bool is_root() const { return place_.parent < 0; }
  __device__ int children() const {
    int n = 0;
    while (n < kMostChildren && place_.child[n] >= 0) ++n;
    return n;
  }
  __device__ KernelConnection parent() const {
    return {a_.base, kind_, place_.from_parent, place_.to_parent};
  }
  __device__ KernelConnection child(int i) const {
    return {a_.base, kind_, place_.from_child[i], place_.to_child[i]};
  }
  __device__ int parent_rank() const { return place_.parent; }
  __device__ int child_rank(int i) const { return place_.child[i]; }

 private:
  const ChannelArguments& a_;
  const Channel& place_;
  KernelConnection::Kind kind_;
};

// Thread `i` of a crew looks after child `i`, the one after the last child after the parent.
template <class T>
__device__ void tree_up(const ChannelArguments& a, const Crew& crew, volatile int& stop) {
  const TreeEnds up(a, KernelConnection::kGive), down(a, KernelConnection::kShare);
  const Slice<T> slice(a.count);
  const int children = up.children(), mine = crew.thread;
  const bool is_child = mine < children, is_parent = mine == children && !up.is_root();
  const bool is_root = up.is_root();
  std::uint32_t number = 0;
  Patience patience(a.base);
  const std::size_t chunk = a.base.chunk_bytes / sizeof(T);
  for (std::size_t at = slice.begin; at < slice.end; at += chunk, ++number) {
    const std::size_t count = min(chunk, slice.end - at);
    bool fine = true;
    if (is_child) {
      fine = up.child(mine).await_message(up.child(mine).received() + number, up.child_rank(mine),
                                          patience);
      if (is_root)
        fine = fine && down.child(mine).await_room(down.child(mine).sent() + number,
                                                   down.child_rank(mine), patience);
    }
    if (is_parent)
      fine = up.parent().await_room(up.parent().sent() + number, up.parent_rank(), patience);
    if (!all_go_on(crew, fine, stop)) return;
    const T* inputs[1 + kMostChildren];
    T* targets[1 + kMostChildren];
    int n_targets = 0;
    inputs[0] = static_cast<const T*>(a.source) + at;
#pragma unroll 1
    for (int i = 0; i < children; ++i)
      inputs[1 + i] = up.child(i).template incoming<T>(up.child(i).received() + number);
    if (is_root) {
      targets[n_targets++] = static_cast<T*>(a.destination) + at;
#pragma unroll 1
      for (int i = 0; i < children; ++i)
        targets[n_targets++] = down.child(i).template outgoing<T>(down.child(i).sent() + number);
    } else {
      targets[n_targets++] = up.parent().template outgoing<T>(up.parent().sent() + number);
    }
    reduce_chunk(crew, inputs, 1 + children, targets, n_targets, count,
                 {a.reduction.op, is_root ? a.reduction.divide_by : 0});
    crew.meet();
    if (is_child) {
      up.child(mine).tell_read(up.child(mine).received() + number);
      if (is_root) down.child(mine).tell_sent(down.child(mine).sent() + number, count * sizeof(T));
    }
    if (is_parent) up.parent().tell_sent(up.parent().sent() + number, count * sizeof(T));
  }
  crew.meet();
  if (is_child) {
    up.child(mine).received() += number;
    if (is_root) down.child(mine).sent() += number;
  }
  if (is_parent) up.parent().sent() += number;
}

template <class T>
__device__ void tree_down(const ChannelArguments& a, const Crew& crew, volatile int& stop) {
  const TreeEnds down(a, KernelConnection::kShare);
  if (down.is_root()) return;
  const Slice<T> slice(a.count);
  const int children = down.children(), mine = crew.thread;
  const bool is_child = mine < children, is_parent = mine == children;
  std::uint32_t number = 0;
  Patience patience(a.base);
  const std::size_t chunk = a.base.chunk_bytes / sizeof(T);
  for (std::size_t at = slice.begin; at < slice.end; at += chunk, ++number) {
    const std::size_t count = min(chunk, slice.end - at);
    bool fine = true;
    if (is_child)
      fine = down.child(mine).await_room(down.child(mine).sent() + number, down.child_rank(mine),
                                         patience);
    if (is_parent)
      fine = down.parent().await_message(down.parent().received() + number, down.parent_rank(),
                                         patience);
    if (!all_go_on(crew, fine, stop)) return;
    T* targets[1 + kMostChildren];
    targets[0] = static_cast<T*>(a.destination) + at;
#pragma unroll 1
    for (int i = 0; i < children; ++i)
      targets[1 + i] = down.child(i).template outgoing<T>(down.child(i).sent() + number);
    copy_to(crew, targets, 1 + children,
            down.parent().template incoming<T>(down.parent().received() + number), count);
    crew.meet();
    if (is_child) down.child(mine).tell_sent(down.child(mine).sent() + number, count * sizeof(T));
    if (is_parent) down.parent().tell_read(down.parent().received() + number);
  }
  crew.meet();
  if (is_child) down.child(mine).sent() += number;
  if (is_parent) down.parent().received() += number;
}

template <class T>
__device__ void tree(const ChannelArguments& a, int (&stops)[2]) {
  if (threadIdx.x < 2) stops[threadIdx.x] = 0;
  __syncthreads();
  const int thread = threadIdx.x;
  if (thread < kTreeCrew)
    tree_up<T>(a, {1, kTreeCrew, thread}, stops[0]);
  else
    tree_down<T>(a, {2, kTreeCrew, thread - kTreeCrew}, stops[1]);
}

}  // namespace railgauge::gpu
