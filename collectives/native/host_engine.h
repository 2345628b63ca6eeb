// SPDX-License-Identifier: Apache-2.0
// One rank's end of a communicator in host memory: its connections, and the operations over them.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "collectives/native/algorithm.h"
#include "collectives/native/direct.h"
#include "collectives/native/executor.h"
#include "collectives/native/operation.h"
#include "collectives/native/primitives.h"
#include "collectives/native/rank_connections.h"
#include "collectives/native/recorder.h"
#include "collectives/native/reduction.h"
#include "collectives/native/zero_copy.h"
#include "transports/native/doorbell.h"
#include "transports/native/shm/shared_segment.h"
#include "transports/native/waiting.h"

namespace railgauge {

// How operations of up to `up_to_bytes` are run.
struct AlgorithmChoice {
  std::size_t up_to_bytes;
  Algorithm algorithm;
  int channels;  // of a ring or tree, at most as many as there are
  Protocol protocol = Protocol::kSimple;
};

// What a rank does in a timed exchange with another one. The numbers are part of the Python binding
// (collectives/link/pair_connection.py).
enum class ExchangeRole : int {
  kSend,  // message after message; the other one receives
  kReceive,
  kBoth,  // at once; the other one too
  kAsk,   // sends a message and receives one; the other one answers
  kAnswer,
};
inline constexpr int kTraffics = 5;

class HostEngine {
 public:
  struct Options {
    Waiting::Policy waiting;
    std::size_t stream_bytes;  // results this large, out of place, bypass the caches
  };

  HostEngine(int rank, int ranks, std::shared_ptr<Doorbell> doorbell, RankConnections wiring,
             Options options);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  // Sets how a collective is run, by size: the first choice that covers the size, else the last.
  // Throws Error(kInvalid) for algorithms that are not connected.
  void choose(Collective collective, std::vector<AlgorithmChoice> choices);
  // Sets from which sizes it is checked whether it can run on the arrays in place.
  void zero_copy(Collective collective, const ZeroCopySizes& sizes) {
    zero_copy_[static_cast<int>(collective)] = sizes;
  }
  // Connects every rank with every other one; all ranks together.
  void connect_pairs(Connector& connector) {
    const int channel = static_cast<int>(channel_after_trees(0));
    wiring_.pairs = railgauge::connect_pairs(rank_, ranks_, wiring_.hosts, channel, connector);
  }
  bool has_pairs() const { return !wiring_.pairs.empty(); }

  // Runs it to its end; any thread may call Doorbell::abort() meanwhile. Throws Error; after that
  // the communicator is unusable.
  void run(const Operation& operation);
  // Returns when every rank is in it.
  void barrier();
  // All-to-all with parts of any length, over pairs.
  void all_to_all_v(const std::byte* source, const std::vector<Part>& to, std::byte* destination,
                    const std::vector<Part>& from, Dtype dtype);

  // Messages of `bytes` over the pair with one other rank, which calls this at the same time with
  // the counterpart: `ahead`, and then `times` timed ones. Returns the seconds of one of the
  // latter, including the answer; from when both ranks were ready (if some went first) until all
  // had arrived.
  double time_pair(int peer, ExchangeRole traffic, const std::byte* source, std::byte* destination,
                   std::size_t bytes, int ahead, int times);

  // Whether an operation has started and not ended: it is running, or it failed and no rank can
  // continue.
  bool is_amid() const { return amid_; }

  // How an operation is run, with the channels that it uses.
  AlgorithmChoice choice(const Operation& operation) const;

  // For other threads: the last operations, the last of which may be running, and what it waits
  // for.
  const Recorder& recorder() const { return recorder_; }
  BlockedOn blocked_on() const { return waiting_.blocked_on(); }

 private:
  struct Share;
  AlgorithmChoice how_to_run(const Operation& operation) const;
  Subject begin(const Operation& operation, const AlgorithmChoice& choice);
  void run_by(const AlgorithmChoice& choice, const Operation& operation, const Subject& subject);
  void end();
  void run_alone(const Operation& operation);
  void run_direct(const Operation& operation, const AlgorithmChoice& choice,
                  const Subject& subject);
  void run_channels(const Operation& operation, const AlgorithmChoice& choice,
                    const Subject& subject);
  void run_recursive(const Operation& operation, bool doubling, const Subject& subject);
  void run_hierarchical(const Operation& operation, const Subject& subject);
  void run_pairs(const Operation& operation, const Subject& subject);
  void exchange_parts(const Operation& operation, const std::vector<Part>& to,
                      const std::vector<Part>& from, const Subject& subject);
  Task ring_task(const Operation& operation, const Primitives& moves, const RingChannel& ring,
                 const Share& share) const;
  bool run_zero_copy(const Operation& operation, const Subject& subject);
  bool streams(const Operation& operation, std::size_t from_bytes) const;
  bool connected(Collective collective, Algorithm algorithm) const;
  bool has_hierarchy(Collective collective) const;
  // The channel number after all rings and trees: pairs, then cubes.
  std::size_t channel_after_trees(std::size_t number) const {
    return wiring_.rings.size() + wiring_.trees.size() + number;
  }

  int rank_, ranks_;
  RankConnections wiring_;
  Options options_;
  Waiting waiting_;
  std::vector<AlgorithmChoice> choices_[kCollectives];
  ZeroCopySizes zero_copy_[kCollectives];
  Recorder recorder_;
  std::vector<std::byte> scratch_;
  std::uint64_t history_ = 0;  // of all operations so far
  bool amid_ = false;
};

}  // namespace railgauge
