// SPDX-License-Identifier: Apache-2.0
// What ring and tree come to: one block that moves all there is on the first channel.
#include <algorithm>

#include "combining.h"
#include "connection.h"
#include "kernels.h"

namespace railgauge::gpu {

namespace {

struct Ended {};  // a wait was ended

// What ring and tree have in common: one channel, arrays by bytes, and waits.
class OnChannel {
 protected:
  OnChannel(const ChannelArguments& a, Dtype dtype, Redop op)
      : a_(a),
        place_(*a.channel),
        combine_(dtype, op),
        total_(a.count * combine_.element_bytes()),
        chunk_(std::min(a.base.chunk_bytes, a.base.layout.slot_bytes) / 16 * 16),
        patience_(a.base) {}

  const char* source(std::size_t at) const { return static_cast<const char*>(a_.source) + at; }
  char* destination(std::size_t at) const { return static_cast<char*>(a_.destination) + at; }
  void await_message(const Connection& from, int rank) {
    while (!from.has_message()) wait(rank);
    patience_.goes_on(true, rank);
  }
  void await_room(const Connection& to, int rank) {
    while (!to.has_room()) wait(rank);
    patience_.goes_on(true, rank);
  }

  const ChannelArguments& a_;
  const Channel& place_;
  const Combining combine_;
  const std::size_t total_, chunk_;

 private:
  void wait(int rank) {
    if (!patience_.goes_on(false, rank)) throw Ended{};
  }

  Patience patience_;
};

class Ring : OnChannel {
 public:
  Ring(const ChannelArguments& a, Dtype dtype, Redop op)
      : OnChannel(a, dtype, op),
        from_(a.base, Connection::kGive, place_.from_previous, place_.to_previous),
        to_(a.base, Connection::kGive, place_.from_next, place_.to_next) {}

  void run() {
    const std::size_t stride = a_.what == Round::kAllReduce ? chunk_ * a_.ranks : chunk_;
    for (std::size_t at = 0; at < total_; at += stride) {
      const std::size_t bytes = std::min(stride, total_ - at);
      switch (a_.what) {
        case Round::kAllReduce:
          all_reduce(at, bytes);
          break;
        case Round::kReduce:
          reduce(at, bytes);
          break;
        case Round::kReduceScatter:
          reduce_scatter(at, bytes);
          break;
        case Round::kAllGather:
          all_gather(at, bytes);
          break;
        case Round::kBroadcast:
          broadcast(at, bytes);
          break;
      }
    }
  }

 private:
  // A part each: it is reduced on its way around, then goes around as it is.
  void all_reduce(std::size_t start, std::size_t bytes) {
    const std::size_t each = ((bytes + a_.ranks - 1) / a_.ranks + 15) / 16 * 16;
    for (int step = 1; step < 2 * a_.ranks; ++step) {
      const int part = (place_.position + 2 * a_.ranks - step) % a_.ranks;
      const std::size_t begin = std::min(bytes, part * each), end = std::min(bytes, begin + each);
      const char* own = step <= a_.ranks ? source(start + begin) : nullptr;
      char* keep = step >= a_.ranks ? destination(start + begin) : nullptr;
      pass(step > 1, own, keep, step + 1 < 2 * a_.ranks, end - begin, step == a_.ranks);
    }
  }
  void reduce_scatter(std::size_t at, std::size_t bytes) {
    for (int step = 1; step <= a_.ranks; ++step) {
      const bool last = step == a_.ranks;
      pass(step > 1, source(behind(step) * total_ + at), last ? destination(at) : nullptr, !last,
           bytes, last);
    }
  }
  void all_gather(std::size_t at, std::size_t bytes) {
    for (int step = 0; step < a_.ranks; ++step) {
      pass(step > 0, step ? nullptr : source(at), destination(behind(step) * total_ + at),
           step + 1 < a_.ranks, bytes, false);
    }
  }
  void broadcast(std::size_t at, std::size_t bytes) {
    const int steps = steps_from_root();
    pass(steps > 0, steps ? nullptr : source(at), destination(at), steps + 1 < a_.ranks, bytes,
         false);
  }
  void reduce(std::size_t at, std::size_t bytes) {
    const int steps = steps_from_root();
    pass(steps != 1, source(at), steps ? nullptr : destination(at), steps > 0, bytes, !steps);
  }

  std::size_t behind(int steps) const {
    return place_.order[(place_.position + a_.ranks - steps % a_.ranks) % a_.ranks];
  }
  int steps_from_root() const {
    const int root =
        static_cast<int>(std::find(place_.order, place_.order + a_.ranks, a_.root) - place_.order);
    return (place_.position + a_.ranks - root) % a_.ranks;
  }

  // One message: what came, reduced with the own data if there is some, to `keep` and onwards.
  void pass(bool receives, const char* own, char* keep, bool sends, std::size_t bytes,
            bool divides) {
    if (!bytes) return;
    if (receives) await_message(from_, place_.previous);
    if (sends) await_room(to_, place_.next);
    std::vector<const void*> inputs;
    std::vector<char*> targets;
    if (receives) inputs.push_back(from_.incoming());
    if (own) inputs.push_back(own);
    if (keep) targets.push_back(keep);
    if (sends) targets.push_back(to_.outgoing());
    combine_(targets, inputs, bytes, divides ? a_.divide_by : 0);
    if (receives) from_.take();
    if (sends) to_.send(bytes);
  }

  Connection from_, to_;
};

class Tree : OnChannel {
 public:
  Tree(const ChannelArguments& a, Dtype dtype, Redop op) : OnChannel(a, dtype, op) {
    if (place_.parent >= 0) add(parent_, place_.parent, place_.from_parent, place_.to_parent);
    for (int i = 0; i < kMostChildren && place_.child[i] >= 0; ++i) {
      add(children_, place_.child[i], place_.from_child[i], place_.to_child[i]);
    }
  }

  // As many chunks are on their way up as the slots hold before the first comes down.
  void run() {
    std::size_t down = 0;
    for (std::size_t up = 0; up < total_; up += chunk_) {
      carry_up(up);
      if (up >= (kSlots - 1) * chunk_) carry_down(down), down += chunk_;
    }
    for (; down < total_; down += chunk_) carry_down(down);
  }

 private:
  struct End {
    int rank;
    Connection up, down;
  };

  void add(std::vector<End>& ends, int rank, const StagingBuffer& in, const StagingBuffer& out) {
    ends.push_back(
        {rank, {a_.base, Connection::kGive, in, out}, {a_.base, Connection::kShare, in, out}});
  }
  void carry_up(std::size_t at) {
    const std::size_t bytes = std::min(chunk_, total_ - at);
    std::vector<const void*> inputs{source(at)};
    std::vector<char*> targets;
    for (End& child : children_) {
      await_message(child.up, child.rank);
      inputs.push_back(child.up.incoming());
      if (!parent_.empty()) continue;
      await_room(child.down, child.rank);
      targets.push_back(child.down.outgoing());
    }
    for (End& parent : parent_) {
      await_room(parent.up, parent.rank);
      targets.push_back(parent.up.outgoing());
    }
    if (parent_.empty()) targets.push_back(destination(at));
    combine_(targets, inputs, bytes, parent_.empty() ? a_.divide_by : 0);
    for (End& child : children_) {
      child.up.take();
      if (parent_.empty()) child.down.send(bytes);
    }
    for (End& parent : parent_) parent.up.send(bytes);
  }
  void carry_down(std::size_t at) {
    const std::size_t bytes = std::min(chunk_, total_ - at);
    for (End& parent : parent_) {
      await_message(parent.down, parent.rank);
      std::memcpy(destination(at), parent.down.incoming(), bytes);
      for (End& child : children_) {
        await_room(child.down, child.rank);
        std::memcpy(child.down.outgoing(), parent.down.incoming(), bytes);
        child.down.send(bytes);
      }
      parent.down.take();
    }
  }

  std::vector<End> parent_, children_;  // at most one parent
};

template <class OneRank>
bool add(const std::string& way) {
  for (const Redop op : {Redop::kSum, Redop::kProd, Redop::kMin, Redop::kMax}) {
    cuda::add_kernel(way + kOps[static_cast<int>(op)], [op](auto dtype, void** parameters) {
      return [=, arguments = cuda::parameter<ChannelArguments>(parameters, 0)] {
        try {
          OneRank(arguments, dtype.value(), op).run();
        } catch (const Ended&) {
        }
      };
    });
  }
  return true;
}

const bool kAdded = add<Ring>("ring_") && add<Tree>("tree_");

}  // namespace

}  // namespace railgauge::gpu
