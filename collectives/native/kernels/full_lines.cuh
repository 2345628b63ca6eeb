// SPDX-License-Identifier: Apache-2.0
// Messages of some megabytes in lines of 128 bytes: 120 of data and 8 with the round number,
// written by eight threads at once. NVLink delivers such a store whole, and a load of that size
// sees all of it or nothing (NCCL's protocol LL128 uses the same), so that no separate flags are
// needed. Inputs go to the ranks that reduce them, results to all; each rank writes all its data
// before it waits. A line is written again two rounds later, which is as safe as in
// low_latency.cuh: each pair of ranks exchanges a line at least in every round, and a round begins
// where the one before has ended.
#pragma once

#include "arguments.h"
#include "element.cuh"
#include "low_latency.cuh"
#include "signal.cuh"

namespace railgauge::gpu {

// A thread has two words of a line; of the last thread the second one is the round.
inline constexpr int kLineThreads = 8, kLineWords = 15;

// A warp's place in the lines of an array: as many at a time as it has threads for.
class WarpLines {
 public:
  __device__ WarpLines(std::size_t words) : lines_((words + kLineWords - 1) / kLineWords) {
    const unsigned warps = gridDim.x * (blockDim.x / kWarp);
    step_ = warps * kAtOnce;
    at_ = (blockIdx.x * (blockDim.x / kWarp) + threadIdx.x / kWarp) * kAtOnce;
  }
  // All threads of a warp have the same answer.
  __device__ bool has() const { return at_ < lines_; }
  __device__ void next() { at_ += step_; }
  __device__ std::size_t line() const { return at_ + threadIdx.x % kWarp / kLineThreads; }
  __device__ bool is_line() const { return line() < lines_; }

 private:
  static constexpr std::size_t kAtOnce = kWarp / kLineThreads;
  std::size_t lines_, step_, at_;
};

template <class T>
class FullLines {
 public:
  __device__ FullLines(const Arguments& a)
      : a_(a),
        e_(a.exchange),
        patience_(a.base),
        memory_(a.base.memory),
        round_(memory_->line_round + 1),
        place_(threadIdx.x % kLineThreads) {}

  __device__ void run() {
#pragma unroll 1
    for (int step = 1; step < a_.ranks; ++step) give((a_.rank + step) % a_.ranks);
    bool there = false;
    with_op(e_.reduction, [&](auto op) { there = reduce_and_share<decltype(op)>(); });
    there&& land() && take();
    end();
  }

 private:
  // Of a staging buffer: of inputs, or of results.
  __device__ char* lines(char* buffer, bool results) const {
    const Layout& layout = a_.base.layout;
    const std::size_t number = results * 2 + round_ % 2;
    return buffer + layout.full_lines_at() + number * layout.full_lines * kFullLineBytes;
  }

  __device__ Sixteen read(const Words<T>& words, std::size_t line) const {
    const std::size_t at = line * kLineWords + 2 * place_;
    Sixteen half{};
    if (at < words.size()) half.first = words.load(at).word;
    if (place_ < kLineThreads - 1 && at + 1 < words.size()) half.second = words.load(at + 1).word;
    return half;
  }
  __device__ void write(const Words<T>& words, std::size_t line, Sixteen half) const {
    const std::size_t at = line * kLineWords + 2 * place_;
    typename Words<T>::WordPack pack;
    if (at < words.size()) pack.word = half.first, words.store(at, pack);
    if (place_ < kLineThreads - 1 && at + 1 < words.size())
      pack.word = half.second, words.store(at + 1, pack);
  }
  __device__ void send(char* line, Sixteen half) const {
    if (place_ == kLineThreads - 1) half.second = round_;
    store_line(line, place_, half);
  }
  // A line of each quarter of the warp; false if the wait was ended.
  __device__ bool receive(const char* line, bool wanted, int from, Sixteen& half) {
    while (true) {
      if (wanted) half = load_line(line, place_);
      const bool missing = wanted && place_ == kLineThreads - 1 && half.second != round_;
      if (!any_of_warp(missing)) break;
      if (any_of_warp(!patience_.goes_on(from))) return false;
    }
    patience_.came();
    return true;
  }

  __device__ void give(int peer) {
    const Words<T> words(e_.give[peer], e_.give_count[peer]);
    char* to = lines(a_.out[peer].words, false);
    for (WarpLines at(words.size()); at.has(); at.next()) {
      if (at.is_line()) send(to + at.line() * kFullLineBytes, read(words, at.line()));
    }
    if (!words.size() && !blockIdx.x && threadIdx.x < kLineThreads) send(to, {});
  }

  template <class Op>
  __device__ bool reduce_and_share() {
    const Words<T> own(e_.own, e_.reduce_count), result(e_.result, e_.reduce_count);
    const std::size_t words = (e_.reduce_count * sizeof(T) + sizeof(Word) - 1) / sizeof(Word);
    for (WarpLines at(words); at.has(); at.next()) {
      Reduced<T, Word> first, second;
      bool begun = false;
#pragma unroll 1
      for (int rank = 0; rank < a_.ranks; ++rank) {  // in this order everywhere
        Sixteen half{};
        if (rank == a_.rank) {
          if (!e_.own) continue;
          if (at.is_line()) half = read(own, at.line());
        } else {
          if (!(e_.reduce_from >> rank & 1)) continue;
          const char* from = lines(a_.in[rank].words, false) + at.line() * kFullLineBytes;
          if (!receive(from, at.is_line(), rank, half)) return false;
        }
        Pack<T, Word> pack;
        pack.word = half.first;
        begun ? first.template add<Op>(pack) : first.begin(pack);
        pack.word = half.second;
        begun ? second.template add<Op>(pack) : second.begin(pack);
        begun = true;
      }
      if (!at.is_line()) continue;
      const Sixteen sum{first.template end<Op>(e_.reduction.divide_by).word,
                        second.template end<Op>(e_.reduction.divide_by).word};
#pragma unroll 1
      for (int step = 1; step < a_.ranks; ++step) {
        const int peer = (a_.rank + step) % a_.ranks;
        if (e_.share_with >> peer & 1)
          send(lines(a_.out[peer].words, true) + at.line() * kFullLineBytes, sum);
      }
      if (e_.result) write(result, at.line(), sum);
    }
    return true;
  }

  // Data of peers that is not reduced; for peers without data the line that signals this.
  __device__ bool land() {
#pragma unroll 1
    for (int step = 1; step < a_.ranks; ++step) {
      const int peer = (a_.rank + step) % a_.ranks;
      if ((e_.reduce_from >> peer & 1) && e_.reduce_count) continue;
      const Words<T> words(e_.land[peer], e_.land_count[peer]);
      if (!take_lines(words, lines(a_.in[peer].words, false), peer)) return false;
      Sixteen none;
      if (!words.size() && !blockIdx.x && threadIdx.x < kWarp) {
        if (!receive(lines(a_.in[peer].words, false), threadIdx.x < kLineThreads, peer, none))
          return false;
      }
    }
    return true;
  }
  __device__ bool take() {
#pragma unroll 1
    for (int step = 1; step < a_.ranks; ++step) {
      const int peer = (a_.rank + step) % a_.ranks;
      if (!take_lines({e_.take[peer], e_.take_count[peer]}, lines(a_.in[peer].words, true), peer))
        return false;
    }
    return true;
  }
  __device__ bool take_lines(const Words<T>& words, const char* from, int peer) {
    for (WarpLines at(words.size()); at.has(); at.next()) {
      Sixteen half;
      if (!receive(from + at.line() * kFullLineBytes, at.is_line(), peer, half)) return false;
      if (at.is_line()) write(words, at.line(), half);
    }
    return true;
  }

  // The last block to end counts the round.
  __device__ void end() {
    __syncthreads();
    if (threadIdx.x) return;
    __threadfence();
    if (atomicAdd(&memory_->line_blocks, 1) + 1 < gridDim.x) return;
    memory_->line_blocks = 0;
    memory_->line_round = round_;
  }

  const Arguments& a_;
  const Exchange& e_;
  Patience patience_;
  KernelState* memory_;
  const std::uint32_t round_;
  const int place_;
};

}  // namespace railgauge::gpu
