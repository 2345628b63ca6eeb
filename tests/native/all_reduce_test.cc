// SPDX-License-Identifier: Apache-2.0
// The engine without Python, a thread per rank, over each transport: every dtype and operator over
// rings of 1 to 5 ranks, channels in other orders, a stalled channel, a deadline, an abort. Made
// for sanitizers.
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>

#include "collectives/native/communicator.h"
#include "collectives/native/pattern.h"
#include "transports/native/error.h"
#include "transports/native/fault.h"
#include "transports/native/shm/connection.h"
#include "transports/native/socket/connection.h"

namespace railgauge {
namespace {

using namespace std::chrono_literals;

#define REQUIRE(condition)                                                 \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                        \
    }                                                                      \
  } while (0)

enum class Transport { kShm, kSocket };

// The ends of all ranks on some rings, wired in this process.
struct World {
  Transport transport;
  std::vector<std::shared_ptr<Doorbell>> doorbells;
  std::vector<std::shared_ptr<socket::Proxy>> proxies;
  std::vector<std::vector<RingChannel>> channels;  // [rank][channel]

  World(Transport kind, const std::vector<std::vector<int>>& rings, std::uint32_t slots,
        std::uint32_t slot_bytes)
      : transport(kind) {
    int ranks = static_cast<int>(rings[0].size());
    for (int rank = 0; rank < ranks; ++rank) {
      doorbells.push_back(Doorbell::create());
      proxies.push_back(std::make_shared<socket::Proxy>(doorbells[rank], 20s));
    }
    channels.resize(ranks);
    for (const auto& ring : rings) {
      for (int i = 0; i < ranks; ++i) channels[ring[i]].push_back({i, ranks, nullptr, nullptr});
      for (int i = 0; ranks > 1 && i < ranks; ++i) connect(ring, i, slots, slot_bytes);
    }
  }

  void connect(const std::vector<int>& ring, int i, std::uint32_t slots, std::uint32_t slot_bytes) {
    int from = ring[i], to = ring[(i + 1) % ring.size()];
    if (transport == Transport::kSocket) {
      int ends[2];
      REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
      channels[from].back().next = std::make_shared<socket::SocketSender>(
          proxies[from], socket::End{ends[0], to, "there", "NET/Socket/0", slots, slot_bytes});
      channels[to].back().previous = std::make_shared<socket::SocketReceiver>(
          proxies[to], socket::End{ends[1], from, "there", "NET/Socket/0", slots, slot_bytes});
      return;
    }
    auto receiver = std::make_shared<shm::ShmReceiver>(from, doorbells[from], slots, slot_bytes);
    auto segment = shm::Segment::open(receiver->descriptor());
    channels[from].back().next =
        std::make_shared<shm::ShmSender>(to, doorbells[to], std::move(segment));
    channels[to].back().previous = receiver;
  }
};

Communicator::Options options(std::chrono::nanoseconds timeout) { return {timeout, 5us, 64, 4096}; }

void on_every_rank(int ranks, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(body, rank);
  for (auto& thread : threads) thread.join();
}

std::vector<int> iota(int ranks, int first) {
  std::vector<int> ring(ranks);
  for (int i = 0; i < ranks; ++i) ring[i] = (i + first) % ranks;
  return ring;
}

void all_dtypes_and_operators(Transport transport, int ranks) {
  World world(transport, {iota(ranks, 0), iota(ranks, 1)}, 2, 128);
  on_every_rank(ranks, [&](int rank) {
    Communicator comm(world.doorbells[rank], world.channels[rank], options(20s));
    for (int dtype = 0; dtype < kDtypes; ++dtype) {
      for (int op = 0; op < kRedops; ++op) {
        for (std::size_t count : {0, 1, 7, 64, 1009}) {
          Pattern pattern{ranks, static_cast<Dtype>(dtype), static_cast<Redop>(op), count,
                          count % 2 ? PatternKind::kRandom : PatternKind::kExact};
          std::vector<std::uint64_t> in(count), out(count, ~0ull);
          fill_pattern(pattern, rank, in.data(), count);
          comm.all_reduce(in.data(), out.data(), count, pattern.dtype, pattern.op);
          REQUIRE(check_reduced(pattern, out.data(), count).wrong == 0);
          comm.all_reduce(in.data(), in.data(), count, pattern.dtype, pattern.op);
          REQUIRE(check_reduced(pattern, in.data(), count).wrong == 0);
        }
      }
    }
  });
}

// Holds channel 0 of rank 0 back: channel 1 has to end long before it.
void a_stalled_channel_does_not_hold_the_other(Transport transport) {
  World world(transport, {iota(2, 0), iota(2, 0)}, 4, 256);
  auto& stalled = world.channels[0][0].next;
  Fault fault{Fault::Kind::kStall, 1, 400ms};
  auto faulty = std::make_shared<FaultySender>(stalled, fault);
  faulty->arm();
  stalled = faulty;
  std::atomic<std::uint64_t> other_at_half{0};
  auto other = world.channels[1][1].previous;
  constexpr std::size_t kCount = 4096;
  std::thread watch([&] {
    std::this_thread::sleep_for(200ms);
    other_at_half = other->bytes();
  });
  on_every_rank(2, [&](int rank) {
    Communicator comm(world.doorbells[rank], world.channels[rank], options(20s));
    Pattern pattern{2, Dtype::kFloat32, Redop::kSum, 1};
    std::vector<float> data(kCount);
    fill_pattern(pattern, rank, data.data(), kCount);
    comm.all_reduce(data.data(), data.data(), kCount, Dtype::kFloat32, Redop::kSum);
    REQUIRE(check_reduced(pattern, data.data(), kCount).wrong == 0);
  });
  watch.join();
  REQUIRE(other_at_half == kCount / 2 * sizeof(float));
}

ErrorCode code_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  REQUIRE(!"an error was due");
  return ErrorCode::kInvalid;
}

void a_lonely_rank_reaches_its_deadline(Transport transport) {
  World world(transport, {iota(2, 0)}, 2, 128);
  Communicator comm(world.doorbells[0], world.channels[0], options(100ms));
  float x = 1;
  REQUIRE(code_of([&] { comm.all_reduce(&x, &x, 1, Dtype::kFloat32, Redop::kSum); }) ==
          ErrorCode::kTimeout);
  REQUIRE(comm.blocked_on().rank == 1);
}

void an_abort_ends_a_sleeping_rank(Transport transport) {
  World world(transport, {iota(2, 0)}, 2, 128);
  Communicator comm(world.doorbells[0], world.channels[0], options(60s));
  std::thread other([&] {
    std::this_thread::sleep_for(50ms);
    Doorbell::open(world.doorbells[0]->descriptor())->abort();
  });
  float x = 1;
  REQUIRE(code_of([&] { comm.all_reduce(&x, &x, 1, Dtype::kFloat32, Redop::kSum); }) ==
          ErrorCode::kAborted);
  other.join();
}

void different_counts_are_found(Transport transport) {
  World world(transport, {iota(2, 0)}, 8, 128);
  std::atomic<int> found{0};
  on_every_rank(2, [&](int rank) {
    Communicator comm(world.doorbells[rank], world.channels[rank], options(500ms));
    std::vector<float> data(64);
    auto code = code_of([&] {
      comm.all_reduce(data.data(), data.data(), rank ? 64 : 32, Dtype::kFloat32, Redop::kSum);
    });
    if (code == ErrorCode::kMismatch) ++found;
  });
  REQUIRE(found > 0);
}

}  // namespace
}  // namespace railgauge

int main() {
  using namespace railgauge;
  for (Transport transport : {Transport::kShm, Transport::kSocket}) {
    for (int ranks : {1, 2, 3, 5}) all_dtypes_and_operators(transport, ranks);
    a_stalled_channel_does_not_hold_the_other(transport);
    a_lonely_rank_reaches_its_deadline(transport);
    an_abort_ends_a_sleeping_rank(transport);
    different_counts_are_found(transport);
  }
  std::puts("all passed");
}
