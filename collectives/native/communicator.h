// SPDX-License-Identifier: Apache-2.0
// Collectives between the host memory of several processes, for C++ programs. Installed as
// <railgauge/communicator.h>; docs/guide/cpp.md shows how to use it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "operation.h"  // beside this file where it is installed

namespace railgauge {

class HostEngine;
class Rendezvous;

// One rank's end of a communicator: made by all ranks together, which then call the same operations
// in the same order. An operation returns when this rank's part of it is done. One thread at a time
// may run collectives; any may send, receive and abort.
//
// What fails throws Error (<railgauge/error.h>). kInvalid: an argument is wrong, and nothing has
// happened. After any other code the communicator can only be destroyed. A lost rank of another
// host is found at once (PeerLost), one of this host when nothing has moved for the timeout.
class Communicator {
 public:
  struct Options {
    // How long an operation may wait without any progress.
    std::chrono::nanoseconds timeout = std::chrono::seconds(60);
    // This host's IP address in the network that joins the hosts. Needed with ranks on several.
    std::string address = {};
    // false: ranks of one host use the network as well.
    bool share_memory = true;
    // Connect every rank with every other one for send() and recv().
    bool point_to_point = false;
  };
  // The rings over which large data goes, each all ranks in ring order, as `railgauge graph search`
  // finds them ("ranks"); without any, one ring, host by host.
  using Rings = std::vector<std::vector<int>>;

  // Rank `rank` of `ranks`. The rendezvous has to last as long as the communicator.
  Communicator(Rendezvous& rendezvous, int rank, int ranks, const Options& options,
               const Rings& rings = {});
  Communicator(Rendezvous& rendezvous, int rank, int ranks)
      : Communicator(rendezvous, rank, ranks, Options()) {}
  // For a program that makes the connections itself, as the Python bindings do.
  explicit Communicator(std::unique_ptr<HostEngine> engine);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const;
  int ranks() const;

  // `count` is in elements, as NCCL counts them: those of the whole array of all_reduce, broadcast
  // and reduce, else those that one rank has for one other. Source and destination are the same
  // array, or the smaller one is this rank's part of the larger one, or they do not overlap; those
  // of all_to_all do not overlap.
  void all_reduce(const void* source, void* destination, std::size_t count, Dtype dtype,
                  Redop op = Redop::kSum) {
    run(Collective::kAllReduce, source, destination, count, dtype, op, 0);
  }
  void reduce_scatter(const void* source, void* destination, std::size_t count, Dtype dtype,
                      Redop op = Redop::kSum) {
    run(Collective::kReduceScatter, source, destination, count, dtype, op, 0);
  }
  void all_gather(const void* source, void* destination, std::size_t count, Dtype dtype) {
    run(Collective::kAllGather, source, destination, count, dtype, Redop::kSum, 0);
  }
  void all_to_all(const void* source, void* destination, std::size_t count, Dtype dtype) {
    run(Collective::kAllToAll, source, destination, count, dtype, Redop::kSum, 0);
  }
  // The source is the root's alone.
  void broadcast(const void* source, void* destination, std::size_t count, Dtype dtype, int root) {
    run(Collective::kBroadcast, source, destination, count, dtype, Redop::kSum, root);
  }
  // The destination is the root's alone.
  void reduce(const void* source, void* destination, std::size_t count, Dtype dtype, Redop op,
              int root) {
    run(Collective::kReduce, source, destination, count, dtype, op, root);
  }
  // Any of them, and gather, scatter and the shift to the next rank.
  void run(const Operation& operation);
  // Returns when every rank is in it.
  void barrier();

  // A send or receive under way, which uses its memory until wait() has returned or thrown.
  class Request;
  static constexpr int kAnyRank = -1;
  // A message goes to the receive of the same rank and tag that was started first.
  Request send(const void* data, std::size_t count, Dtype dtype, int to, std::uint32_t tag = 0);
  Request recv(void* data, std::size_t count, Dtype dtype, int from, std::uint32_t tag = 0);

  // Ends this rank's operations, which throw kAborted from now on. The other ranks wait for this
  // one until their timeout. From any thread.
  void abort();

  // For the Python bindings: measurements and records.
  HostEngine& engine();
  const HostEngine& engine() const;

 private:
  struct Parts;
  void run(Collective collective, const void* source, void* destination, std::size_t count,
           Dtype dtype, Redop op, int root) {
    run({collective, static_cast<const std::byte*>(source), static_cast<std::byte*>(destination),
         count, dtype, op, root});
  }

  std::unique_ptr<Parts> parts_;
};

class Communicator::Request {
 public:
  // Returns when it is done: a receive's data is there, a send's memory may be used again. Throws
  // Error.
  void wait();
  bool done() const;
  // Of a receive that is done: whose message it took.
  int source() const;

 private:
  friend class Communicator;
  struct Started;
  explicit Request(std::shared_ptr<Started> started) : started_(std::move(started)) {}

  std::shared_ptr<Started> started_;
};

}  // namespace railgauge
