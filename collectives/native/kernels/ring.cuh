// SPDX-License-Identifier: Apache-2.0
// Collectives around rings, for ranks of which not all reach each other directly. Each block runs
// a part of the data on one channel, step by step as the host's engine does (all_reduce.cc and its
// neighbours), so that a rank's inputs are reduced in the order of the ring.
#pragma once

#include "connection.cuh"

namespace railgauge::gpu {

inline constexpr int kRingThreads = crew_of(16);
inline constexpr int kRingSender = kRingThreads / 2;  // the thread that waits for the next rank

// The part of `count` elements that this block moves; parts begin at multiples of 128 bytes.
template <class T>
struct Slice {
  std::size_t begin, end;
  __device__ Slice(std::size_t count) {
    const std::size_t step = 128 / sizeof(T);
    const std::size_t each = ((count + gridDim.x - 1) / gridDim.x + step - 1) / step * step;
    begin = min(count, blockIdx.x * each);
    end = min(count, begin + each);
  }
};

template <class T>
class Ring {
 public:
  __device__ Ring(const ChannelArguments& a, volatile int& stop)
      : a_(a),
        place_(a.channel[blockIdx.x % a.channels]),
        crew_{1, kRingThreads, static_cast<int>(threadIdx.x)},
        stop_(stop),
        patience_(a.base),
        from_(a.base, KernelConnection::kGive, place_.from_previous, place_.to_previous),
        to_(a.base, KernelConnection::kGive, place_.from_next, place_.to_next),
        received_(from_.received()),
        sent_(to_.sent()),
        source_(static_cast<const T*>(a.source)),
        destination_(static_cast<T*>(a.destination)),
        chunk_(a.base.chunk_bytes / sizeof(T)) {}

  __device__ void run() {
    if (crew_.thread == 0) stop_ = 0;
    __syncthreads();
    const Slice<T> slice(a_.count);
    const std::size_t stride = a_.what == Round::kAllReduce ? chunk_ * a_.ranks : chunk_;
    for (std::size_t at = slice.begin; at < slice.end; at += stride) {
      const std::size_t count = min(stride, slice.end - at);
#pragma unroll 1
      for (int i = 0; i < steps(); ++i) {
        if (!pass(step(i, at, count))) return;
      }
    }
    crew_.meet();
    if (crew_.thread) return;
    from_.received() = received_;
    to_.sent() = sent_;
  }

 private:
  // One message: what comes from the previous rank, if anything does, and the own data, if there is
  // any, become one; it is kept, sent to the next rank, or both.
  struct Step {
    const T* own;
    T* keep;
    std::size_t count;
    bool receives, sends, divides;
  };

  __device__ int steps() const {
    switch (a_.what) {
      case Round::kAllReduce:
        return 2 * a_.ranks - 1;
      case Round::kReduceScatter:
      case Round::kAllGather:
        return a_.ranks;
      default:
        return 1;
    }
  }

  // Of `count` elements from `at` on.
  __device__ Step step(int i, std::size_t at, std::size_t count) const {
    const bool is_last = i + 1 == steps();
    const T* const own = source_ + at;
    T* const keep = destination_ + at;
    switch (a_.what) {
      case Round::kAllReduce: {
        // A part each, which moves back by one position in the ring with every step: it is reduced
        // on its way around, then goes around as it is.
        const std::size_t unit = 128 / sizeof(T);
        const std::size_t each = ((count + a_.ranks - 1) / a_.ranks + unit - 1) / unit * unit;
        const int part = (place_.position + 2 * a_.ranks - i - 1) % a_.ranks;
        const std::size_t begin = min(count, part * each), end = min(count, begin + each);
        const bool is_whole = i + 1 >= a_.ranks;
        return {i < a_.ranks ? own + begin : nullptr,
                is_whole ? keep + begin : nullptr,
                end - begin,
                i > 0,
                !is_last,
                i + 1 == a_.ranks};
      }
      case Round::kReduceScatter:
        return {own + rank_behind(i + 1) * a_.count,
                is_last ? keep : nullptr,
                count,
                i > 0,
                !is_last,
                is_last};
      case Round::kAllGather:
        return {i ? nullptr : own, keep + rank_behind(i) * a_.count, count, i > 0, !is_last, false};
      case Round::kBroadcast: {
        const int behind = steps_from_root();
        return {behind ? nullptr : own, keep, count, behind > 0, behind + 1 < a_.ranks, false};
      }
      default: {
        const int behind = steps_from_root();
        return {own, behind ? nullptr : keep, count, behind != 1, behind > 0, !behind};
      }
    }
  }
  __device__ std::size_t rank_behind(int steps) const {
    return place_.order[(place_.position + a_.ranks - steps % a_.ranks) % a_.ranks];
  }
  __device__ int steps_from_root() const {
    int of_root = 0;
    while (place_.order[of_root] != a_.root) ++of_root;
    return (place_.position + a_.ranks - of_root) % a_.ranks;
  }

  // False if a wait was ended.
  __device__ bool pass(const Step& step) {
    if (!step.count) return true;
    bool fine = true;
    if (step.receives && crew_.thread == 0)
      fine = from_.await_message(received_, place_.previous, patience_);
    if (step.sends && crew_.thread == kRingSender)
      fine = to_.await_room(sent_, place_.next, patience_);
    if (!all_go_on(crew_, fine, stop_)) return false;
    const T* inputs[2];
    T* targets[2];
    int n_inputs = 0, n_targets = 0;
    if (step.receives) inputs[n_inputs++] = from_.template incoming<T>(received_);
    if (step.own) inputs[n_inputs++] = step.own;
    const bool is_kept = step.keep == step.own && !step.receives;
    if (step.keep && !is_kept) targets[n_targets++] = step.keep;
    if (step.sends) targets[n_targets++] = to_.template outgoing<T>(sent_);
    if (n_inputs == 2) {
      reduce_chunk(crew_, inputs, 2, targets, n_targets, step.count,
                   {a_.reduction.op, step.divides ? a_.reduction.divide_by : 0});
    } else {
      copy_to(crew_, targets, n_targets, inputs[0], step.count);
    }
    crew_.meet();
    if (step.receives && crew_.thread == 0) from_.tell_read(received_);
    if (step.sends && crew_.thread == kRingSender) to_.tell_sent(sent_, step.count * sizeof(T));
    received_ += step.receives;
    sent_ += step.sends;
    return true;
  }

  const ChannelArguments& a_;
  const Channel& place_;
  const Crew crew_;
  volatile int& stop_;
  Patience patience_;
  const KernelConnection from_, to_;
  std::uint32_t received_, sent_;
  const T* source_;
  T* destination_;
  std::size_t chunk_;
};

}  // namespace railgauge::gpu
