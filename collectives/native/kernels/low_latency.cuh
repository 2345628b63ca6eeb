// SPDX-License-Identifier: Apache-2.0
// Small messages in one step, in lines that contain their round number (line.cuh). Each rank writes
// its data for all others, then waits for its own. A line is written again two rounds later. By
// then its reader is done with it: the writer received a line of the round between, which that
// reader sent after it had ended the round before. So each rank sends each other one at least one
// line in every round.
#pragma once

#include "arguments.h"
#include "element.cuh"
#include "line.cuh"

namespace railgauge::gpu {

// A rank's array as words of 8 bytes, the last of which may be cut off; of any alignment of
// elements. What is moved in lines is far shorter than 4 GiB.
template <class T>
class Words {
 public:
  using WordPack = Pack<T, Word>;
  __device__ Words(const void* data, std::size_t count)
      : data_(static_cast<T*>(const_cast<void*>(data))),
        count_(data ? static_cast<std::uint32_t>(count) : 0),
        whole_(reinterpret_cast<std::uintptr_t>(data) % sizeof(Word) == 0) {}

  __device__ std::uint32_t size() const {
    return (count_ + WordPack::kElements - 1) / WordPack::kElements;
  }
  __device__ WordPack load(std::uint32_t at) const {
    WordPack pack;
    const std::uint32_t first = at * WordPack::kElements;
    if (whole_ && first + WordPack::kElements <= count_) {
      pack.word = reinterpret_cast<const Word*>(data_)[at];
      return pack;
    }
    pack.word = 0;
#pragma unroll 1
    for (int i = 0; i < WordPack::kElements && first + i < count_; ++i)
      pack.word |= Word(bits()[first + i]) << i * kBits;
    return pack;
  }
  __device__ void store(std::uint32_t at, const WordPack& pack) const {
    const std::uint32_t first = at * WordPack::kElements;
    if (whole_ && first + WordPack::kElements <= count_) {
      reinterpret_cast<Word*>(data_)[at] = pack.word;
      return;
    }
#pragma unroll 1
    for (int i = 0; i < WordPack::kElements && first + i < count_; ++i)
      bits()[first + i] = static_cast<Bits<T>>(pack.word >> i * kBits);
  }

 private:
  static constexpr int kBits = 8 * sizeof(T);
  __device__ Bits<T>* bits() const { return reinterpret_cast<Bits<T>*>(data_); }

  T* data_;
  std::uint32_t count_;
  bool whole_;
};

// What a block moves of a peer's array: so many lines from a word on. An array of which it has
// nothing has a line too.
template <class T>
struct BlockLines {
  Words<T> words{nullptr, 0};
  Sixteen* line = nullptr;
  std::uint32_t begin = 0, count = 0;

  __device__ BlockLines() {}
  __device__ BlockLines(const Words<T>& all, Sixteen* lines, std::uint32_t of_a_block)
      : words(all), line(lines), begin(min(all.size(), blockIdx.x * of_a_block)) {
    count = max(1u, min(all.size() - begin, of_a_block));
  }
  __device__ bool is_empty() const { return begin == words.size(); }
};

template <class T>
class LowLatency {
 public:
  __device__ explicit LowLatency(const Arguments& a)
      : a_(a),
        e_(a.exchange),
        patience_(a.base),
        round_(a.base.memory->round[blockIdx.x] + 1),
        of_a_block_(a.base.chunk_bytes / sizeof(Word)) {}

  __device__ void run() {
#pragma unroll 1
    for (int step = 1; step < a_.ranks; step += kTogether) give(step);
    with_op(e_.reduction, [&](auto op) { reduce<decltype(op)>(); });
#pragma unroll 1
    for (int step = 1; there_ && step < a_.ranks; step += kTogether) land(step);
    __syncthreads();
    if (threadIdx.x == 0) a_.base.memory->round[blockIdx.x] = round_;
  }

 private:
  using Lines = BlockLines<T>;
  using WordPack = Pack<T, Word>;

  __device__ Sixteen* lines(const StagingBuffer& buffer) const {
    const std::size_t at = (std::size_t(blockIdx.x) * 2 + round_ % 2) * 2 * kLineBytes;
    return reinterpret_cast<Sixteen*>(buffer.words + a_.base.layout.lines_at() + at);
  }
  __device__ bool is_reduced(int peer) const { return e_.reduce_from >> peer & 1; }

  // To the peers from a step on, as in land().
  __device__ void give(int first) const {
    Lines to[kTogether];
    std::uint32_t most = 0;
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (first + i >= a_.ranks) continue;
      const int peer = peer_at(a_.rank, first + i, a_.ranks);
      to[i] = {{e_.give[peer], e_.give_count[peer]}, lines(a_.out[peer]), of_a_block_};
      most = max(most, to[i].count);
    }
    for (std::uint32_t at = threadIdx.x; at < most; at += blockDim.x) {
      WordPack pack[kTogether];
#pragma unroll
      for (int i = 0; i < kTogether; ++i)
        if (at < to[i].count) pack[i] = to[i].words.load(to[i].begin + at);
#pragma unroll
      for (int i = 0; i < kTogether; ++i)
        if (at < to[i].count) write_line(to[i].line + at, pack[i].word, round_);
    }
  }

  template <class Op>
  __device__ void reduce() {
    const Words<T> input(e_.own, e_.reduce_count);
    const Lines result({e_.result, e_.reduce_count}, nullptr, of_a_block_);
    if (result.is_empty()) return;
    for (std::uint32_t at = threadIdx.x; there_ && at < result.count; at += blockDim.x) {
      WordPack own;
      if (e_.own) own = input.load(result.begin + at);
      Reduced<T, Word> sum;
      bool begun = false;
#pragma unroll 1
      for (int first = 0; there_ && first < a_.ranks; first += kTogether) {  // in this order
        const Sixteen* line[kTogether];  // everywhere: equal results
        int from[kTogether];
        Word data[kTogether];
        unsigned reduced = 0;
#pragma unroll
        for (int i = 0; i < kTogether; ++i) {
          from[i] = first + i;
          if (!is_reduced(first + i)) continue;
          line[i] = lines(a_.in[first + i]) + at;
          reduced |= 1u << i;
        }
        there_ = read_lines(line, reduced, round_, from, patience_, data);
#pragma unroll
        for (int i = 0; i < kTogether; ++i) {
          const bool is_own = e_.own && first + i == a_.rank;
          if (!is_own && !(reduced >> i & 1)) continue;
          WordPack pack;
          pack.word = is_own ? own.word : data[i];
          begun ? sum.template add<Op>(pack) : sum.begin(pack);
          begun = true;
        }
      }
      if (there_)
        result.words.store(result.begin + at, sum.template end<Op>(e_.reduction.divide_by));
    }
  }

  __device__ void land(int first) {
    const bool reduces = !Lines({e_.result, e_.reduce_count}, nullptr, of_a_block_).is_empty();
    Lines to[kTogether];
    int from[kTogether];
    std::uint32_t most = 0;
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      from[i] = peer_at(a_.rank, first + i, a_.ranks);
      if (first + i >= a_.ranks || (reduces && is_reduced(from[i]))) continue;
      to[i] = {{e_.land[from[i]], e_.land_count[from[i]]}, lines(a_.in[from[i]]), of_a_block_};
      most = max(most, to[i].count);
    }
    for (std::uint32_t at = threadIdx.x; there_ && at < most; at += blockDim.x) {
      const Sixteen* line[kTogether];
      Word data[kTogether];
      unsigned landing = 0;
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        line[i] = to[i].line + at;
        landing |= unsigned(at < to[i].count) << i;
      }
      there_ = read_lines(line, landing, round_, from, patience_, data);
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        WordPack pack;
        pack.word = data[i];
        if (there_ && landing >> i & 1) to[i].words.store(to[i].begin + at, pack);
      }
    }
  }

  const Arguments& a_;
  const Exchange& e_;
  Patience patience_;
  const std::uint32_t round_;
  const std::uint32_t of_a_block_;
  bool there_ = true;  // all that was waited for
};

}  // namespace railgauge::gpu
