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
// elements.
template <class T>
class Words {
 public:
  using WordPack = Pack<T, Word>;
  __device__ Words(const void* data, std::size_t count)
      : data_(static_cast<T*>(const_cast<void*>(data))),
        count_(data ? count : 0),
        whole_(reinterpret_cast<std::uintptr_t>(data) % sizeof(Word) == 0) {}

  __device__ std::size_t size() const {
    return (count_ + WordPack::kElements - 1) / WordPack::kElements;
  }
  __device__ WordPack load(std::size_t at) const {
    WordPack pack;
    const std::size_t first = at * WordPack::kElements;
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
  __device__ void store(std::size_t at, const WordPack& pack) const {
    const std::size_t first = at * WordPack::kElements;
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
  std::size_t count_;
  bool whole_;
};

// The words of an array that a block moves.
struct Range {
  std::size_t begin, end;
  __device__ Range(std::size_t words) {
    const std::size_t each = (words + gridDim.x - 1) / gridDim.x;
    begin = min(words, blockIdx.x * each);
    end = min(words, begin + each);
  }
};

template <class T>
class LowLatency {
 public:
  __device__ explicit LowLatency(const Arguments& a)
      : a_(a), e_(a.exchange), patience_(a.base), round_(a.base.memory->round[blockIdx.x] + 1) {}

  __device__ void run() {
#pragma unroll 1
    for (int step = 1; step < a_.ranks; ++step) give((a_.rank + step) % a_.ranks);
    with_op(e_.reduction, [&](auto op) { reduce<decltype(op)>(); });
#pragma unroll 1
    for (int step = 1; there_ && step < a_.ranks; ++step) land((a_.rank + step) % a_.ranks);
    __syncthreads();
    if (threadIdx.x == 0) a_.base.memory->round[blockIdx.x] = round_;
  }

 private:
  __device__ Sixteen* lines(const StagingBuffer& buffer) const {
    const std::size_t at = (std::size_t(blockIdx.x) * 2 + round_ % 2) * 2 * kLineBytes;
    return reinterpret_cast<Sixteen*>(buffer.words + a_.base.layout.lines_at() + at);
  }
  __device__ bool is_reduced(int peer) const { return e_.reduce_from >> peer & 1; }

  __device__ void give(int peer) const {
    const Words<T> from(e_.give[peer], e_.give_count[peer]);
    const Range range(from.size());
    Sixteen* to = lines(a_.out[peer]);
    for (std::size_t at = range.begin + threadIdx.x; at < range.end; at += blockDim.x) {
      write_line(to + (at - range.begin), from.load(at).word, round_);
    }
    if (range.begin == range.end && threadIdx.x == 0) write_line(to, 0, round_);
  }

  template <class Op>
  __device__ void reduce() {
    const Words<T> input(e_.own, e_.reduce_count), result(e_.result, e_.reduce_count);
    const Range range(result.size());
    for (std::size_t at = range.begin + threadIdx.x; there_ && at < range.end; at += blockDim.x) {
      Reduced<T, Word> sum;
      bool begun = false;
#pragma unroll 1
      for (int rank = 0; rank < a_.ranks; ++rank) {  // in this order everywhere: equal results
        Pack<T, Word> pack;
        if (rank == a_.rank) {
          if (!e_.own) continue;
          pack = input.load(at);
        } else {
          if (!is_reduced(rank)) continue;
          there_ &= read_line(lines(a_.in[rank]) + (at - range.begin), round_, rank, patience_,
                              pack.word);
        }
        begun ? sum.template add<Op>(pack) : sum.begin(pack);
        begun = true;
      }
      if (there_) result.store(at, sum.template end<Op>(e_.reduction.divide_by));
    }
  }

  __device__ void land(int peer) {
    const Range reduced(Words<T>(e_.result, e_.reduce_count).size());
    if (is_reduced(peer) && reduced.begin != reduced.end) return;
    const Words<T> to(e_.land[peer], e_.land_count[peer]);
    const Range range(to.size());
    const Sixteen* from = lines(a_.in[peer]);
    Pack<T, Word> pack;
    for (std::size_t at = range.begin + threadIdx.x; there_ && at < range.end; at += blockDim.x) {
      there_ = read_line(from + (at - range.begin), round_, peer, patience_, pack.word);
      if (there_) to.store(at, pack);
    }
    if (range.begin == range.end && threadIdx.x == 0)
      there_ = read_line(from, round_, peer, patience_, pack.word);
  }

  const Arguments& a_;
  const Exchange& e_;
  Patience patience_;
  const std::uint32_t round_;
  bool there_ = true;  // all that was waited for
};

}  // namespace railgauge::gpu
