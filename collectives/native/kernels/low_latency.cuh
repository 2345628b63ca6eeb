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
#pragma unroll
    for (int i = 0; i < WordPack::kElements; ++i) {
      if (first + i < count_) pack.element[i] = data_[first + i];
    }
    return pack;
  }
  __device__ void store(std::size_t at, const WordPack& pack) const {
    const std::size_t first = at * WordPack::kElements;
    if (whole_ && first + WordPack::kElements <= count_) {
      reinterpret_cast<Word*>(data_)[at] = pack.word;
      return;
    }
#pragma unroll
    for (int i = 0; i < WordPack::kElements; ++i) {
      if (first + i < count_) data_[first + i] = pack.element[i];
    }
  }

 private:
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

template <class T, class Op>
__device__ void low_latency(const Arguments& a) {
  const Exchange& e = a.exchange;
  const int block = blockIdx.x;
  const std::uint32_t round = a.base.memory->round[block] + 1;
  const auto lines = [&](char* buffer) {
    const std::size_t at = (std::size_t(block) * 2 + round % 2) * 2 * kLineBytes;
    return reinterpret_cast<Sixteen*>(buffer + a.base.layout.lines_at() + at);
  };
  for (int step = 1; step < a.ranks; ++step) {
    const int peer = (a.rank + step) % a.ranks;
    const Words<T> from(e.give[peer], e.give_count[peer]);
    const Range range(from.size());
    Sixteen* to = lines(a.out[peer].words);
    for (std::size_t at = range.begin + threadIdx.x; at < range.end; at += blockDim.x) {
      write_line(to + (at - range.begin), from.load(at).word, round);
    }
    if (range.begin == range.end && threadIdx.x == 0) write_line(to, 0, round);
  }
  Patience patience(a.base);
  bool there = true;
  const Words<T> input(e.own, e.reduce_count), result(e.result, e.reduce_count);
  const Range reduced(result.size());
  for (std::size_t at = reduced.begin + threadIdx.x; there && at < reduced.end; at += blockDim.x) {
    Reduced<T, Word> sum;
    bool begun = false;
    for (int rank = 0; rank < a.ranks;
         ++rank) {  // in this order everywhere, so that results are equal
      Pack<T, Word> pack;
      if (rank == a.rank) {
        if (!e.own) continue;
        pack = input.load(at);
      } else {
        if (!(e.reduce_from >> rank & 1)) continue;
        there &= read_line(lines(a.in[rank].words) + (at - reduced.begin), round, rank, patience,
                           pack.word);
      }
      begun ? sum.template add<Op>(pack) : sum.begin(pack);
      begun = true;
    }
    if (there) result.store(at, sum.end(e.divide_by));
  }
  for (int step = 1; there && step < a.ranks; ++step) {
    const int peer = (a.rank + step) % a.ranks;
    const bool is_reduced = (e.reduce_from >> peer & 1) && reduced.begin != reduced.end;
    if (is_reduced) continue;
    const Words<T> to(e.land[peer], e.land_count[peer]);
    const Range range(to.size());
    const Sixteen* from = lines(a.in[peer].words);
    Pack<T, Word> pack;
    for (std::size_t at = range.begin + threadIdx.x; there && at < range.end; at += blockDim.x) {
      there = read_line(from + (at - range.begin), round, peer, patience, pack.word);
      if (there) to.store(at, pack);
    }
    if (range.begin == range.end && threadIdx.x == 0)
      there = read_line(from, round, peer, patience, pack.word);
  }
  __syncthreads();
  if (threadIdx.x == 0) a.base.memory->round[block] = round;
}

}  // namespace railgauge::gpu
