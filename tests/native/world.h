// SPDX-License-Identifier: Apache-2.0
// Ranks as threads of a test, wired in this process: rings, trees, shared segments and pairs.
#pragma once

#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>

#include "collectives/native/host_engine.h"
#include "collectives/native/pattern.h"
#include "tests/native/require.h"
#include "transports/native/error.h"
#include "transports/native/fault.h"
#include "transports/native/shm/connection.h"
#include "transports/native/socket/connection.h"

namespace railgauge {

using namespace std::chrono_literals;

inline std::vector<int> iota(int ranks, int first) {
  std::vector<int> ring(ranks);
  for (int i = 0; i < ranks; ++i) ring[i] = (i + first) % ranks;
  return ring;
}

enum class Transport { kShm, kSocket, kSocketHelpers };

class World {
 public:
  std::vector<std::shared_ptr<Doorbell>> doorbells;
  std::vector<RankConnections> wirings;  // by rank
  Protocol protocol = Protocol::kLl;

  World(Transport transport, int ranks, std::uint32_t slots, std::uint32_t slot_bytes)
      : wirings(ranks), transport_(transport), slots_(slots), slot_bytes_(slot_bytes) {
    for (int rank = 0; rank < ranks; ++rank) {
      doorbells.push_back(Doorbell::create());
      proxies_.push_back(std::make_shared<socket::Proxy>(doorbells[rank], 20s));
    }
  }
  int ranks() const { return static_cast<int>(wirings.size()); }

  void add_ring(const std::vector<int>& order) {
    for (int i = 0; i < ranks(); ++i) {
      wirings[order[i]].rings.push_back({i, ranks(), nullptr, nullptr, order});
    }
    for (int i = 0; ranks() > 1 && i < ranks(); ++i) {
      auto [to, from] = connect(order[i], order[(i + 1) % ranks()]);
      wirings[order[i]].rings.back().next = to;
      wirings[order[(i + 1) % ranks()]].rings.back().previous = from;
    }
  }

  // parents[rank] is its parent in the tree, -1 of the root.
  void add_tree(const std::vector<int>& parents) {
    for (RankConnections& wiring : wirings) wiring.trees.emplace_back();
    for (int rank = 0; rank < ranks(); ++rank) {
      if (parents[rank] < 0) continue;
      auto [up, from_child] = connect(rank, parents[rank]);
      auto [down, from_parent] = connect(parents[rank], rank);
      wirings[rank].trees.back().parent = {up, from_parent};
      wirings[parents[rank]].trees.back().children.push_back({down, from_child});
    }
  }

  void add_pairs() {
    for (RankConnections& wiring : wirings) wiring.pairs.resize(ranks());
    for (int from = 0; from < ranks(); ++from) {
      for (int to = 0; to < ranks(); ++to) {
        if (from == to) continue;
        std::tie(wirings[from].pairs[to].to, wirings[to].pairs[from].from) = connect(from, to);
      }
    }
  }

  void add_boards(std::size_t place_bytes) { add_boards(place_bytes, {iota(ranks(), 0)}); }

  // Hosts of these ranks, each with its shared segments, joined by position.
  void add_hosts(std::size_t place_bytes, const std::vector<std::vector<int>>& hosts) {
    add_boards(place_bytes, hosts);
    for (int own = 0; own < static_cast<int>(hosts.size()); ++own) {
      for (int rank : hosts[own]) wirings[rank].hosts = {hosts, own};
    }
    for (int rail = 0; rail < wirings[0].hosts.rails(); ++rail) {
      std::vector<int> order;
      for (const auto& host : hosts) order.push_back(host[rail]);
      add_cube(order, &RankConnections::across);
    }
  }

  // These ranks as a hypercube.
  void add_cube(const std::vector<int>& order,
                Cube RankConnections::* member = &RankConnections::cube) {
    const int size = static_cast<int>(order.size());
    for (int at = 0; at < size; ++at) {
      wirings[order[at]].*member = {order, at, std::vector<Pair>(order.size())};
    }
    for (int at = 0; at < size; ++at) {
      for (int peer : CubePlace{at, size}.neighbours()) {
        Cube &from = wirings[order[at]].*member, &to = wirings[order[peer]].*member;
        std::tie(from.peers[peer].to, to.peers[at].from) = connect(order[at], order[peer]);
      }
    }
  }

  // This rank's communicator, which runs every collective by `algorithm`.
  std::unique_ptr<HostEngine> communicator(int rank, Algorithm algorithm,
                                           std::chrono::nanoseconds timeout = 20s) {
    auto comm = std::make_unique<HostEngine>(rank, ranks(), doorbells[rank], wirings[rank],
                                             HostEngine::Options{{timeout, 5us}, 4096});
    for (int collective = 0; collective < kCollectives; ++collective) {
      try {
        comm->choose(static_cast<Collective>(collective), {{0, algorithm, 1 << 10, protocol}});
      } catch (const Error&) {  // not by this algorithm
      }
    }
    return comm;
  }

  std::pair<std::shared_ptr<Sender>, std::shared_ptr<Receiver>> connect(int from, int to) {
    if (transport_ != Transport::kShm) {
      const int threads = transport_ == Transport::kSocketHelpers ? 1 : 0;
      int ends[2];
      REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
      return {
          std::make_shared<socket::SocketSender>(
              proxies_[from],
              socket::End{{ends[0]}, threads, to, "there", "NET/Socket/0", slots_, slot_bytes_}),
          std::make_shared<socket::SocketReceiver>(
              proxies_[to],
              socket::End{{ends[1]}, threads, from, "there", "NET/Socket/0", slots_, slot_bytes_})};
    }
    auto receiver = std::make_shared<shm::ShmReceiver>(from, doorbells[from], slots_, slot_bytes_);
    auto segment = shm::Segment::open(receiver->descriptor());
    return {std::make_shared<shm::ShmSender>(to, doorbells[to], std::move(segment)), receiver};
  }

 private:
  void add_boards(std::size_t place_bytes, const std::vector<std::vector<int>>& hosts) {
    for (RankConnections& wiring : wirings)
      wiring.segment = std::make_shared<shm::SharedSegment>(place_bytes);
    for (const auto& host : hosts) {
      for (int rank : host) {
        std::vector<shm::SharedSegment::Peer> peers;
        for (int peer : host) {
          bool own = peer == rank;
          peers.push_back({peer, peer, own ? "" : wirings[peer].segment->descriptor(),
                           own ? nullptr : doorbells[peer]});
        }
        wirings[rank].segment->open(peers);
      }
    }
  }

  Transport transport_;
  std::uint32_t slots_, slot_bytes_;
  std::vector<std::shared_ptr<socket::Proxy>> proxies_;
};

inline void on_every_rank(int ranks, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(body, rank);
  for (auto& thread : threads) thread.join();
}

// A balanced binary tree over `order`: the parent of its i-th is its (i-1)/2-th.
inline std::vector<int> tree_over(const std::vector<int>& order) {
  std::vector<int> parents(order.size(), -1);
  for (std::size_t i = 1; i < order.size(); ++i) parents[order[i]] = order[(i - 1) / 2];
  return parents;
}

inline ErrorCode code_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  REQUIRE(!"an error was due");
  return ErrorCode::kInvalid;
}

template <class T>
Operation all_reduce_of(const T* source, T* destination, std::size_t count, Dtype dtype, Redop op) {
  return {Collective::kAllReduce,
          reinterpret_cast<const std::byte*>(source),
          reinterpret_cast<std::byte*>(destination),
          count,
          dtype,
          op,
          0};
}

}  // namespace railgauge
