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

// An array in lines; an input that is empty has one all the same.
template <class T>
struct ArrayLines {
  Words<T> words{nullptr, 0};
  char* line = nullptr;
  std::uint32_t count = 0;

  __device__ ArrayLines() {}
  __device__ ArrayLines(const Words<T>& all, char* lines, std::uint32_t least)
      : words(all), line(lines), count(max(least, (all.size() + kLineWords - 1) / kLineWords)) {}
};

// A warp's place in the lines of arrays, of which the longest has so many: as many at a time as it
// has threads for.
class WarpLines {
 public:
  __device__ WarpLines(std::uint32_t lines) : lines_(lines) {
    const unsigned warps = gridDim.x * (blockDim.x / kWarp);
    step_ = warps * kAtOnce;
    at_ = (blockIdx.x * (blockDim.x / kWarp) + threadIdx.x / kWarp) * kAtOnce;
  }
  // All threads of a warp have the same answer.
  __device__ bool has() const { return at_ < lines_; }
  __device__ bool has_of(std::uint32_t lines) const { return at_ < lines; }
  __device__ void next() { at_ += step_; }
  __device__ std::uint32_t line() const { return at_ + threadIdx.x % kWarp / kLineThreads; }

 private:
  static constexpr unsigned kAtOnce = kWarp / kLineThreads;
  std::uint32_t lines_, step_, at_;
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
    for (int step = 1; step < a_.ranks; step += kTogether) give(step);
    bool there = false;
    with_op(e_.reduction, [&](auto op) { there = reduce_and_share<decltype(op)>(); });
#pragma unroll 1
    for (int step = 1; there && step < a_.ranks; step += kTogether) there = take(step, false);
#pragma unroll 1
    for (int step = 1; there && step < a_.ranks; step += kTogether) there = take(step, true);
    end();
  }

 private:
  using Lines = ArrayLines<T>;

  // Of a staging buffer: of inputs, or of results.
  __device__ char* lines(char* buffer, bool results) const {
    const Layout& layout = a_.base.layout;
    const std::size_t number = results * 2 + round_ % 2;
    return buffer + layout.full_lines_at() + number * layout.full_lines * kFullLineBytes;
  }

  __device__ Sixteen read(const Words<T>& words, std::uint32_t line) const {
    const std::uint32_t at = line * kLineWords + 2 * place_;
    Sixteen half{};
    if (at < words.size()) half.first = words.load(at).word;
    if (place_ < kLineThreads - 1 && at + 1 < words.size()) half.second = words.load(at + 1).word;
    return half;
  }
  __device__ void write(const Words<T>& words, std::uint32_t line, Sixteen half) const {
    const std::uint32_t at = line * kLineWords + 2 * place_;
    typename Words<T>::WordPack pack;
    if (at < words.size()) pack.word = half.first, words.store(at, pack);
    if (place_ < kLineThreads - 1 && at + 1 < words.size())
      pack.word = half.second, words.store(at + 1, pack);
  }
  __device__ void send(char* line, Sixteen half) const {
    if (place_ == kLineThreads - 1) half.second = round_;
    store_line(line, place_, half);
  }
  // A line of each quarter of the warp from some peers, whose loads are all under way at once. Of
  // the bits by peer, the warp's `missing` are the same in all of its threads, `own` in a quarter.
  // False if the wait was ended.
  __device__ bool receive(const char* const (&line)[kTogether], unsigned missing, unsigned own,
                          const int (&from)[kTogether], Sixteen (&half)[kTogether]) {
    while (missing) {
#pragma unroll
      for (int i = 0; i < kTogether; ++i)
        if (missing & own & 1u << i) half[i] = load_line(line[i], place_);
      int late = 0;
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        if (!(missing >> i & 1)) continue;
        const bool waits = own >> i & 1 && place_ == kLineThreads - 1 && half[i].second != round_;
        if (any_of_warp(waits))
          late = from[i];
        else
          missing &= ~(1u << i), patience_.came();
      }
      if (missing && any_of_warp(!patience_.goes_on(late))) return false;
    }
    return true;
  }

  // To the peers from a step on, as in take().
  __device__ void give(int first) {
    Lines to[kTogether];
    std::uint32_t most = 0;
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (first + i >= a_.ranks) continue;
      const int peer = peer_at(a_.rank, first + i, a_.ranks);
      to[i] = {{e_.give[peer], e_.give_count[peer]}, lines(a_.out[peer].words, false), 1};
      most = max(most, to[i].count);
    }
#pragma unroll 1
    for (WarpLines at(most); at.has(); at.next()) {
      Sixteen half[kTogether];
#pragma unroll
      for (int i = 0; i < kTogether; ++i)
        if (at.line() < to[i].count) half[i] = read(to[i].words, at.line());
#pragma unroll
      for (int i = 0; i < kTogether; ++i)
        if (at.line() < to[i].count) send(to[i].line + at.line() * kFullLineBytes, half[i]);
    }
  }

  template <class Op>
  __device__ bool reduce_and_share() {
    const Words<T> own(e_.own, e_.reduce_count);
    const Words<T> result(e_.result, e_.reduce_count);
    const std::uint32_t words = (e_.reduce_count * sizeof(T) + sizeof(Word) - 1) / sizeof(Word);
    const std::uint32_t lines_of_it = (words + kLineWords - 1) / kLineWords;
#pragma unroll 1
    for (WarpLines at(lines_of_it); at.has(); at.next()) {
      const bool is_line = at.line() < lines_of_it;
      Sixteen kept{};
      if (e_.own && is_line) kept = read(own, at.line());
      Reduced<T, Word> one, two;
      bool begun = false;
#pragma unroll 1
      for (int first = 0; first < a_.ranks; first += kTogether) {  // in this order everywhere
        const char* line[kTogether];
        int from[kTogether];
        Sixteen half[kTogether];
        unsigned reduced = 0;
#pragma unroll
        for (int i = 0; i < kTogether; ++i) {
          from[i] = first + i;
          if (!(e_.reduce_from >> (first + i) & 1)) continue;
          line[i] = lines(a_.in[first + i].words, false) + at.line() * kFullLineBytes;
          reduced |= 1u << i;
        }
        if (!receive(line, reduced, is_line ? reduced : 0, from, half)) return false;
#pragma unroll
        for (int i = 0; i < kTogether; ++i) {
          const bool is_own = e_.own && first + i == a_.rank;
          if (!is_own && !(reduced >> i & 1)) continue;
          Pack<T, Word> pack;
          pack.word = is_own ? kept.first : half[i].first;
          begun ? one.template add<Op>(pack) : one.begin(pack);
          pack.word = is_own ? kept.second : half[i].second;
          begun ? two.template add<Op>(pack) : two.begin(pack);
          begun = true;
        }
      }
      if (!is_line) continue;
      const Sixteen sum{one.template end<Op>(e_.reduction.divide_by).word,
                        two.template end<Op>(e_.reduction.divide_by).word};
#pragma unroll 1
      for (int step = 1; step < a_.ranks; ++step) {
        const int peer = peer_at(a_.rank, step, a_.ranks);
        if (e_.share_with >> peer & 1)
          send(lines(a_.out[peer].words, true) + at.line() * kFullLineBytes, sum);
      }
      if (e_.result) write(result, at.line(), sum);
    }
    return true;
  }

  // Results of peers, or their data that is not reduced; of those without data the line that
  // signals this. False if a wait was ended.
  __device__ bool take(int first, bool results) {
    Lines to[kTogether];
    int from[kTogether];
    std::uint32_t most = 0;
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      const int peer = from[i] = peer_at(a_.rank, first + i, a_.ranks);
      if (first + i >= a_.ranks) continue;
      if (results)
        to[i] = {{e_.take[peer], e_.take_count[peer]}, lines(a_.in[peer].words, true), 0};
      else if (!(e_.reduce_from >> peer & 1) || !e_.reduce_count)
        to[i] = {{e_.land[peer], e_.land_count[peer]}, lines(a_.in[peer].words, false), 1};
      most = max(most, to[i].count);
    }
#pragma unroll 1
    for (WarpLines at(most); at.has(); at.next()) {
      const char* line[kTogether];
      Sixteen half[kTogether];
      unsigned waiting = 0, own = 0;
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        line[i] = to[i].line + at.line() * kFullLineBytes;
        waiting |= unsigned(at.has_of(to[i].count)) << i;
        own |= unsigned(at.line() < to[i].count) << i;
      }
      if (!receive(line, waiting, own, from, half)) return false;
#pragma unroll
      for (int i = 0; i < kTogether; ++i)
        if (own >> i & 1) write(to[i].words, at.line(), half[i]);
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
