// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/host_engine.h"

#include <algorithm>
#include <cstring>

#include "collectives/native/all_gather.h"
#include "collectives/native/all_reduce.h"
#include "collectives/native/all_to_all.h"
#include "collectives/native/broadcast.h"
#include "collectives/native/gather.h"
#include "collectives/native/recursive_collectives.h"
#include "collectives/native/reduce_scatter.h"
#include "collectives/native/reduce_to_root.h"
#include "collectives/native/send_recv.h"
#include "transports/native/error.h"

namespace railgauge {

namespace {

constexpr std::size_t kTimedBytes = 64 << 10;  // two looks at the clock are a hundredth of these

}  // namespace

// The stretch of elements that one channel handles.
struct HostEngine::Share {
  std::size_t start, count;
};

HostEngine::HostEngine(int rank, int ranks, std::shared_ptr<Doorbell> doorbell,
                       RankConnections wiring, Options options)
    : rank_(rank),
      ranks_(ranks),
      wiring_(std::move(wiring)),
      options_(options),
      waiting_(std::move(doorbell), options.waiting) {}

bool HostEngine::connected(Collective collective, Algorithm algorithm) const {
  switch (algorithm) {
    case Algorithm::kRing:
      return !wiring_.rings.empty() &&
             static_cast<int>(collective) <= static_cast<int>(Collective::kReduce);
    case Algorithm::kTree:
      return !wiring_.trees.empty() && collective == Collective::kAllReduce;
    case Algorithm::kOneShot:
      return wiring_.segment != nullptr && wiring_.hosts.ranks.empty();
    case Algorithm::kTwoShot:
      return wiring_.segment != nullptr && wiring_.hosts.ranks.empty() &&
             (collective == Collective::kAllReduce || collective == Collective::kReduce);
    case Algorithm::kRecursiveDoubling:
      return !wiring_.cube.order.empty() &&
             (collective == Collective::kAllReduce || collective == Collective::kAllGather ||
              collective == Collective::kBroadcast);
    case Algorithm::kRecursiveHalving:
      return !wiring_.cube.order.empty() &&
             (collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
              collective == Collective::kReduce);
    case Algorithm::kHierarchical:
      return has_hierarchy(collective);
    case Algorithm::kZeroCopy:  // it depends on where arrays lie
      return false;
    case Algorithm::kPairs:  // which may be connected later
      return static_cast<int>(collective) > static_cast<int>(Collective::kReduce);
    case Algorithm::kAlone:
      return false;
  }
  return false;
}

bool HostEngine::has_hierarchy(Collective collective) const {
  if (wiring_.segment == nullptr || wiring_.hosts.ranks.empty()) return false;
  switch (collective) {
    case Collective::kAllReduce:
    case Collective::kBroadcast:
    case Collective::kReduce:
      return true;
    case Collective::kAllGather:
      return wiring_.hosts.equal();
    case Collective::kReduceScatter:  // its messages have a line for every rank of all hosts
      return wiring_.hosts.equal() &&
             wiring_.segment->place_bytes() / 64 >= static_cast<std::size_t>(ranks_);
    default:
      return false;
  }
}

void HostEngine::choose(Collective collective, std::vector<AlgorithmChoice> choices) {
  for (const AlgorithmChoice& choice : choices) {
    if (!connected(collective, choice.algorithm)) {
      throw Error(ErrorCode::kInvalid, "this communicator does not have that algorithm");
    }
  }
  choices_[static_cast<int>(collective)] = std::move(choices);
}

AlgorithmChoice HostEngine::choice(const Operation& operation) const {
  const auto& choices = choices_[static_cast<int>(operation.collective)];
  if (choices.empty()) {
    throw Error(ErrorCode::kInvalid, "no algorithm was set for this collective");
  }
  const std::size_t bytes = operation.bytes(ranks_);
  auto found = std::find_if(choices.begin(), choices.end() - 1, [&](const AlgorithmChoice& choice) {
    return bytes <= choice.up_to_bytes;
  });
  return *found;
}

void HostEngine::run(const Operation& operation) {
  const AlgorithmChoice how = how_to_run(operation);
  const Subject subject = begin(operation, how);
  if (!run_zero_copy(operation, subject)) run_by(how, operation, subject);
  end();
}

void HostEngine::barrier() {
  std::byte one{};
  const Operation told{Collective::kBarrier, &one, &one, 0, Dtype::kUint8, Redop::kMax, 0};
  const Operation done{Collective::kAllReduce, &one, &one, 1, Dtype::kUint8, Redop::kMax, 0};
  const AlgorithmChoice how = how_to_run(done);
  const Subject subject = begin(told, how);
  run_by(how, done, subject);
  end();
}

AlgorithmChoice HostEngine::how_to_run(const Operation& operation) const {
  if (ranks_ == 1) return {0, Algorithm::kAlone, 0};
  const AlgorithmChoice how = choice(operation);
  if (how.algorithm == Algorithm::kPairs && wiring_.pairs.empty()) {
    throw Error(ErrorCode::kInvalid, std::string(collective_name(operation.collective)) +
                                         " needs pairs, which are not connected");
  }
  return how;
}

void HostEngine::run_by(const AlgorithmChoice& how, const Operation& operation,
                        const Subject& subject) {
  switch (how.algorithm) {
    case Algorithm::kAlone:
      return run_alone(operation);
    case Algorithm::kOneShot:
    case Algorithm::kTwoShot:
      return run_direct(operation, how, subject);
    case Algorithm::kRecursiveDoubling:
    case Algorithm::kRecursiveHalving:
      return run_recursive(operation, how.algorithm == Algorithm::kRecursiveDoubling, subject);
    case Algorithm::kHierarchical:
      return run_hierarchical(operation, subject);
    case Algorithm::kPairs:
      return run_pairs(operation, subject);
    case Algorithm::kRing:
    case Algorithm::kTree:
      return run_channels(operation, how, subject);
    case Algorithm::kZeroCopy:  // never chosen
      return;
  }
}

Subject HostEngine::begin(const Operation& operation, const AlgorithmChoice& choice) {
  const auto sequence = static_cast<std::uint32_t>(recorder_.begun() + 1);
  const Subject subject = subject_of(operation, choice.algorithm, sequence, history_);
  history_ = history_after(history_, subject);
  amid_ = true;
  waiting_.forget_waits();
  recorder_.begin(subject, static_cast<int>(choice.algorithm), choice.channels,
                  operation.bytes(ranks_) >= kTimedBytes);
  return subject;
}

void HostEngine::end() {
  recorder_.end(waiting_.waited_since());
  amid_ = false;
}

// Every collective of one rank is a copy.
void HostEngine::run_alone(const Operation& operation) {
  const std::size_t bytes = operation.count * operation.element_bytes();
  if (operation.source != operation.destination && bytes > 0) {
    std::memmove(operation.destination, operation.source, bytes);
  }
}

// In place the destination has just been read, so its lines are in cache: streaming costs a tenth
// there.
bool HostEngine::streams(const Operation& operation, std::size_t from_bytes) const {
  return operation.bytes(ranks_) >= from_bytes && !operation.is_in_place(rank_, ranks_);
}

// False: the memory cannot be accessed, or it does not pay off; nothing was moved.
bool HostEngine::run_zero_copy(const Operation& operation, const Subject& subject) {
  const ZeroCopySizes& sizes = zero_copy_[static_cast<int>(operation.collective)];
  shm::SharedSegment* segment = wiring_.segment.get();
  if (!segment || segment->size() < ranks_ || ranks_ == 1 ||
      !ZeroCopy::worth_asking(operation, sizes, *segment))
    return false;
  // Measured: it pays off from half the size on. 16 MiB took 0.8 of the time (two ranks of an EPYC
  // Turin with 32 MiB of third-level cache).
  const bool stream = streams(operation, options_.stream_bytes / 2);
  ZeroCopy zero_copy(*segment, waiting_, operation, subject, stream);
  if (!zero_copy.agree(sizes)) return false;
  recorder_.ran_by(static_cast<int>(Algorithm::kZeroCopy), 1);
  zero_copy.run();
  return true;
}

void HostEngine::run_direct(const Operation& o, const AlgorithmChoice& choice,
                            const Subject& subject) {
  const bool stream = streams(o, options_.stream_bytes),
             two_shot = choice.algorithm == Algorithm::kTwoShot;
  const Direct direct(*wiring_.segment, waiting_, o, subject, choice.protocol, stream);
  const Reduction reduction(o, ranks_);
  switch (o.collective) {
    case Collective::kAllReduce:
      (two_shot ? two_shot_all_reduce : one_shot_all_reduce)(direct, reduction, o.source,
                                                             o.destination, o.count);
      break;
    case Collective::kAllGather:
      direct_all_gather(direct, o.source, o.destination, o.count, o.count);
      break;
    case Collective::kReduceScatter:
      direct_reduce_scatter(direct, reduction, o.source, o.destination, o.count, o.count);
      break;
    case Collective::kBroadcast:
      direct_broadcast(direct, o.source, o.destination, o.count, o.root);
      break;
    case Collective::kReduce:
      (two_shot ? two_shot_reduce : direct_reduce)(direct, reduction, o.source, o.destination,
                                                   o.count, o.root);
      break;
    case Collective::kAllToAll:
      direct_all_to_all(direct, o.source, o.destination, o.count, o.count);
      break;
    case Collective::kGather:
      direct_gather(direct, o.source, o.destination, o.count, o.count, o.root);
      break;
    case Collective::kScatter:
      direct_scatter(direct, o.source, o.destination, o.count, o.count, o.root);
      break;
    default:
      direct_send_recv(direct, o.source, o.destination, o.count);
  }
  if (stream) stream_fence();
}

void HostEngine::run_channels(const Operation& o, const AlgorithmChoice& choice,
                              const Subject& subject) {
  const std::size_t element = o.element_bytes(), line = 64 / element;
  const bool stream = streams(o, options_.stream_bytes),
             tree = choice.algorithm == Algorithm::kTree;
  const Reduction reduction(o, ranks_);
  const std::uint32_t tag = tag_of(subject);
  const std::size_t used =
      std::min<std::size_t>(choice.channels, tree ? wiring_.trees.size() : wiring_.rings.size());
  const std::size_t length = ((o.count + used - 1) / used + line - 1) / line * line;
  std::vector<Task> tasks;
  tasks.reserve(2 * used);
  std::vector<Primitives> moves;
  moves.reserve(used);
  for (std::size_t i = 0; i < used; ++i) {
    const std::size_t start = std::min(o.count, i * length);
    const Share share{start, std::min(o.count, start + length) - start};
    if (tree) {
      const TreeChannel& channel = wiring_.trees[i];
      std::byte* to = o.destination + start * element;
      tasks.push_back(tree_all_reduce_up(channel, reduction, element, o.source + start * element,
                                         to, share.count, stream, tag));
      tasks.back().on_channel(wiring_.rings.size() + i);
      if (!channel.is_root()) {
        tasks.push_back(tree_all_reduce_down(channel, element, to, share.count, stream, tag));
        tasks.back().on_channel(wiring_.rings.size() + i);
      }
    } else {
      const RingChannel& ring = wiring_.rings[i];
      moves.push_back({ring.previous.get(), ring.next.get(), &reduction, element, stream, tag});
      tasks.push_back(ring_task(o, moves.back(), ring, share));
      tasks.back().on_channel(i);
    }
  }
  run_tasks(tasks, waiting_);
  if (stream) stream_fence();
}

Task HostEngine::ring_task(const Operation& o, const Primitives& moves, const RingChannel& ring,
                           const Share& share) const {
  const std::byte* source = o.source + share.start * moves.element_bytes;
  std::byte* destination = o.destination + share.start * moves.element_bytes;
  switch (o.collective) {
    case Collective::kAllReduce:
      return ring_all_reduce(ring, moves, source, destination, share.count);
    case Collective::kAllGather:
      return ring_all_gather(ring, moves, source, destination, share.count, o.count);
    case Collective::kReduceScatter:
      return ring_reduce_scatter(ring, moves, source, destination, share.count, o.count);
    case Collective::kBroadcast:
      return ring_broadcast(ring, moves, source, destination, share.count, o.root);
    default:
      return ring_reduce(ring, moves, source, destination, share.count, o.root);
  }
}

void HostEngine::run_recursive(const Operation& o, bool doubling, const Subject& subject) {
  const Reduction reduction(o, ranks_);
  const Recursive ranks(wiring_.cube, waiting_, reduction, o.element_bytes(), subject,
                        channel_after_trees(1), scratch_);
  switch (o.collective) {
    case Collective::kAllReduce:
      recursive_all_reduce(ranks, doubling ? AllReduceBy::kDoubling : AllReduceBy::kHalving,
                           o.source, o.destination, o.count);
      break;
    case Collective::kAllGather:
      recursive_all_gather(ranks, o.source, o.destination, o.count);
      break;
    case Collective::kReduceScatter:
      recursive_reduce_scatter(ranks, o.source, o.destination, o.count);
      break;
    case Collective::kBroadcast:
      recursive_broadcast(ranks, o.source, o.destination, o.count, o.root);
      break;
    default:
      recursive_reduce(ranks, o.source, o.destination, o.count, o.root);
  }
}

void HostEngine::run_hierarchical(const Operation& o, const Subject& subject) {
  const bool stream = streams(o, options_.stream_bytes);
  const Reduction reduction(o, ranks_);
  Direct direct(*wiring_.segment, waiting_, o, subject, Protocol::kSimple, stream);
  const Recursive across(wiring_.across, waiting_, reduction, o.element_bytes(), subject,
                         channel_after_trees(2), scratch_);
  const Stages stages{wiring_.hosts, direct, across, reduction};
  switch (o.collective) {
    case Collective::kAllReduce:
      hierarchical_all_reduce(stages, o.source, o.destination, o.count);
      break;
    case Collective::kAllGather:
      hierarchical_all_gather(stages, o.source, o.destination, o.count);
      break;
    case Collective::kReduceScatter:
      hierarchical_reduce_scatter(stages, o.source, o.destination, o.count);
      break;
    case Collective::kBroadcast:
      hierarchical_broadcast(stages, o.source, o.destination, o.count, o.root);
      break;
    default:
      hierarchical_reduce(stages, o.source, o.destination, o.count, o.root);
  }
  if (stream) stream_fence();
}

void HostEngine::run_pairs(const Operation& operation, const Subject& subject) {
  std::vector<Part> to, from;
  parts_of(operation, rank_, ranks_, to, from);
  exchange_parts(operation, to, from, subject);
}

void HostEngine::exchange_parts(const Operation& operation, const std::vector<Part>& to,
                                const std::vector<Part>& from, const Subject& subject) {
  auto tasks = exchange(wiring_.pairs, operation.source, to, operation.destination, from,
                        operation.element_bytes(), tag_of(subject),
                        operation.collective == Collective::kAllToAllV);
  for (Task& task : tasks) task.on_channel(channel_after_trees(0));
  run_tasks(tasks, waiting_);
}

void HostEngine::all_to_all_v(const std::byte* source, const std::vector<Part>& to,
                              std::byte* destination, const std::vector<Part>& from, Dtype dtype) {
  const Operation operation{Collective::kAllToAllV, source, destination, 0, dtype, Redop::kSum, 0};
  if (wiring_.pairs.empty()) {
    throw Error(ErrorCode::kInvalid, "alltoallv needs pairs, which are not connected");
  }
  const Subject subject = begin(operation, {0, Algorithm::kPairs, 1});
  exchange_parts(operation, to, from, subject);
  end();
}

}  // namespace railgauge
