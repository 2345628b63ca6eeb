// SPDX-License-Identifier: Apache-2.0
// Collectives around rings, for ranks of which not all reach each other directly. Each block runs
// a part of the data on one channel, step by step as the host's engine does (all_reduce.cc and its
// neighbours), so that a rank's inputs are reduced in the order of the ring.
#pragma once

#include "connection.cuh"

namespace railgauge::gpu {

inline constexpr int kRingThreads = 16 * kWarp;

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

template <class T, class Op>
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
    switch (a_.what) {
      case Round::kAllReduce:
        all_reduce();
        break;
      case Round::kReduce:
        reduce();
        break;
      case Round::kReduceScatter:
        reduce_scatter();
        break;
      case Round::kAllGather:
        all_gather();
        break;
      case Round::kBroadcast:
        broadcast();
        break;
    }
    crew_.meet();
    if (crew_.thread) return;
    from_.received() = received_;
    to_.sent() = sent_;
  }

 private:
  __device__ void all_reduce() {
    const Slice<T> slice(a_.count);
    const std::size_t step = 128 / sizeof(T);
    for (std::size_t start = slice.begin; start < slice.end; start += chunk_ * a_.ranks) {
      const std::size_t all = min(slice.end - start, chunk_ * a_.ranks);
      const std::size_t each = ((all + a_.ranks - 1) / a_.ranks + step - 1) / step * step;
      // The part that a rank handles moves back by one position in the ring with every step.
      for (int i = 1; i < 2 * a_.ranks; ++i) {
        const int part = (place_.position + 2 * a_.ranks - i) % a_.ranks;
        const std::size_t at = min(all, part * each), count = min(all, at + each) - at;
        const T* own = source_ + start + at;
        T* keep = destination_ + start + at;
        bool goes_on;
        if (i == 1)
          goes_on = send(own, nullptr, count);
        else if (i < a_.ranks)
          goes_on = receive(own, nullptr, true, count, 0);
        else if (i == a_.ranks)
          goes_on = receive(own, keep, true, count, a_.divide_by);
        else
          goes_on = receive(nullptr, keep, i + 1 < 2 * a_.ranks, count, 0);
        if (!goes_on) return;
      }
    }
  }

  __device__ void reduce_scatter() {
    const Slice<T> slice(a_.count);
    for (std::size_t at = slice.begin; at < slice.end; at += chunk_) {
      const std::size_t count = min(chunk_, slice.end - at);
      for (int i = 1; i <= a_.ranks; ++i) {
        const T* own = source_ + rank_behind(i) * a_.count + at;
        const bool is_last = i == a_.ranks;
        T* keep = is_last ? destination_ + at : nullptr;
        const bool goes_on = i == 1
                                 ? send(own, nullptr, count)
                                 : receive(own, keep, !is_last, count, is_last ? a_.divide_by : 0);
        if (!goes_on) return;
      }
    }
  }

  __device__ void all_gather() {
    const Slice<T> slice(a_.count);
    for (std::size_t at = slice.begin; at < slice.end; at += chunk_) {
      const std::size_t count = min(chunk_, slice.end - at);
      for (int i = 0; i < a_.ranks; ++i) {
        T* keep = destination_ + rank_behind(i) * a_.count + at;
        const bool goes_on = i ? receive(nullptr, keep, i + 1 < a_.ranks, count, 0)
                               : send(source_ + at, keep, count);
        if (!goes_on) return;
      }
    }
  }

  __device__ void broadcast() {
    const Slice<T> slice(a_.count);
    const int behind = steps_from_root();
    for (std::size_t at = slice.begin; at < slice.end; at += chunk_) {
      const std::size_t count = min(chunk_, slice.end - at);
      T* keep = destination_ + at;
      const bool goes_on = behind ? receive(nullptr, keep, behind + 1 < a_.ranks, count, 0)
                                  : send(source_ + at, keep, count);
      if (!goes_on) return;
    }
  }

  __device__ void reduce() {
    const Slice<T> slice(a_.count);
    const int behind = steps_from_root();
    for (std::size_t at = slice.begin; at < slice.end; at += chunk_) {
      const std::size_t count = min(chunk_, slice.end - at);
      const T* own = source_ + at;
      const bool goes_on = behind == 1 ? send(own, nullptr, count)
                                       : receive(own, behind ? nullptr : destination_ + at,
                                                 behind != 0, count, behind ? 0 : a_.divide_by);
      if (!goes_on) return;
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

  // The own data to the next rank, and to `keep` if it is not there yet.
  __device__ bool send(const T* own, T* keep, std::size_t count) {
    if (!count) return true;
    if (!await(false, true)) return false;
    T* targets[] = {to_.outgoing<T>(sent_), keep};
    copy_to(crew_, targets, keep && keep != own ? 2 : 1, own, count);
    tell(false, true, count);
    return true;
  }
  // The previous rank's data, reduced with the own data if there is any, to `keep` and to the next
  // rank.
  __device__ bool receive(const T* own, T* keep, bool sends, std::size_t count,
                          std::uint32_t divide_by) {
    if (!count) return true;
    if (!await(true, sends)) return false;
    T* targets[2];
    int n_targets = 0;
    if (keep) targets[n_targets++] = keep;
    if (sends) targets[n_targets++] = to_.outgoing<T>(sent_);
    const T* inputs[] = {from_.incoming<T>(received_), own};
    if (own)
      reduce_chunk<T, Op>(crew_, inputs, 2, targets, n_targets, count, divide_by);
    else
      copy_to(crew_, targets, n_targets, inputs[0], count);
    tell(true, sends, count);
    return true;
  }
  __device__ bool await(bool receives, bool sends) {
    bool fine = true;
    if (receives && crew_.thread == 0)
      fine = from_.await_message(received_, place_.previous, patience_);
    if (sends && crew_.thread == kWarp) fine = to_.await_room(sent_, place_.next, patience_);
    return all_go_on(crew_, fine, stop_);
  }
  __device__ void tell(bool received, bool sent, std::size_t count) {
    crew_.meet();
    if (received && crew_.thread == 0) from_.tell_read(received_);
    if (sent && crew_.thread == kWarp) to_.tell_sent(sent_, count * sizeof(T));
    received_ += received;
    sent_ += sent;
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

template <class T, class Op>
__device__ void ring(const ChannelArguments& a, int& stop) {
  if (threadIdx.x == 0) stop = 0;
  __syncthreads();
  Ring<T, Op>(a, stop).run();
}

}  // namespace railgauge::gpu
