// SPDX-License-Identifier: Apache-2.0
// Point to point over every transport, a thread or two per rank: messages of all lengths around the
// sizes of slots, started in random orders, each to whom and in the order that it must have. Made
// for sanitizers.
#include "collectives/native/messages.h"

#include <algorithm>
#include <random>

#include "tests/native/world.h"

namespace railgauge {
namespace {

constexpr std::size_t kCounts[] = {0, 1, 10, 28, 29, 32, 64, 65, 1000, 20000};

std::int32_t given(int from, int to, int number, std::size_t i) {
  return from * 1000003 + to * 10007 + number * 101 + static_cast<std::int32_t>(i);
}

// Not copied: its memory is in use.
struct Letter {
  TransferPtr transfer;
  std::unique_ptr<std::int32_t[]> data;
  std::size_t count;
};

class Rank {
 public:
  Rank(World& world, int rank, std::chrono::nanoseconds timeout = 20s)
      : rank_(rank),
        messages_(rank, world.wirings[rank].pairs, world.doorbells[rank], {timeout, 5us}) {}

  Messages& messages() { return messages_; }

  Letter send(int to, std::uint32_t tag, int number, std::size_t count) {
    Letter letter{nullptr, std::make_unique<std::int32_t[]>(count), count};
    for (std::size_t i = 0; i < count; ++i) letter.data[i] = given(rank_, to, number, i);
    return start(std::move(letter), Transfer::Kind::kSend, to, tag);
  }
  Letter recv(int from, std::uint32_t tag, std::size_t count) {
    return start({nullptr, std::make_unique<std::int32_t[]>(count), count}, Transfer::Kind::kRecv,
                 from, tag);
  }
  void check(const Letter& letter, int from, int number) {
    messages_.wait(letter.transfer);
    REQUIRE(letter.transfer->source == from);
    for (std::size_t i = 0; i < letter.count; ++i) {
      REQUIRE(letter.data[i] == given(from, rank_, number, i));
    }
  }

 private:
  Letter start(Letter letter, Transfer::Kind kind, int peer, std::uint32_t tag) {
    letter.transfer =
        std::make_shared<Transfer>(kind, peer, tag, Dtype::kInt32,
                                   reinterpret_cast<std::byte*>(letter.data.get()), letter.count);
    messages_.start(letter.transfer);
    return letter;
  }

  int rank_;
  Messages messages_;
};

// Every rank sends every count to every rank, itself too, with two tags, in orders of its own.
void everyone_to_everyone(Transport transport, int ranks, unsigned seed) {
  World world(transport, ranks, 2, 128);
  world.add_pairs();
  on_every_rank(ranks, [&](int rank) {
    Rank own(world, rank);
    std::mt19937 random(seed * 100 + rank);
    struct Plan {
      bool sends;
      int peer;
      std::uint32_t tag;
    };
    std::vector<Plan> plan;
    for (std::size_t each = 0; each < std::size(kCounts); ++each) {
      for (int peer = 0; peer < ranks; ++peer) {
        for (std::uint32_t tag : {5u, 6u}) {
          plan.push_back({true, peer, tag});
          plan.push_back({false, peer, tag});
        }
      }
    }
    std::shuffle(plan.begin(), plan.end(), random);
    std::map<std::tuple<bool, int, std::uint32_t>, int> begun;
    std::vector<Letter> sent, received;
    std::vector<std::pair<int, int>> expected;  // of whom, and which
    for (const Plan& each : plan) {
      const int number = begun[{each.sends, each.peer, each.tag}]++;
      const int which = number * 10 + static_cast<int>(each.tag);
      if (each.sends) {
        sent.push_back(own.send(each.peer, each.tag, which, kCounts[number]));
      } else {
        received.push_back(own.recv(each.peer, each.tag, kCounts[number]));
        expected.emplace_back(each.peer, which);
      }
      if (random() % 8 == 0) std::this_thread::yield();
    }
    std::thread other([&] {
      for (const Letter& letter : sent) own.messages().wait(letter.transfer);
    });
    for (std::size_t i = 0; i < received.size(); ++i) {
      own.check(received[i], expected[i].first, expected[i].second);
    }
    other.join();
    REQUIRE(!own.messages().is_amid());
  });
}

void from_any_rank(Transport transport) {
  World world(transport, 3, 2, 128);
  world.add_pairs();
  on_every_rank(3, [&](int rank) {
    Rank own(world, rank);
    for (int number = 0; number < 20; ++number) {
      const std::size_t count = number % 2 ? 10 : 1000;
      if (rank) {
        own.messages().wait(own.send(0, number, number, count).transfer);
        continue;
      }
      int found = 0;
      for (int each = 0; each < 2; ++each) {
        Letter letter = own.recv(Transfer::kAnyRank, number, count);
        own.messages().wait(letter.transfer);
        found += letter.transfer->source;
        own.check(letter, letter.transfer->source, number);
      }
      REQUIRE(found == 1 + 2);
    }
  });
}

// A receiver that started nothing takes what fits a message nevertheless, and no long one.
void short_ones_leave_without_their_receiver(Transport transport) {
  World world(transport, 2, 2, 128);
  world.add_pairs();
  std::atomic<bool> left{false};
  on_every_rank(2, [&](int rank) {
    Rank own(world, rank);
    if (rank == 0) {
      Letter longer = own.send(1, 1, 0, 1000);
      for (int number = 0; number < 200; ++number) {
        own.messages().wait(own.send(1, 0, number, 10).transfer);
      }
      REQUIRE(!own.messages().wait(longer.transfer, 1ms));
      left = true;
      own.messages().wait(longer.transfer);
    } else {
      while (!left) std::this_thread::sleep_for(1ms);
      for (int number = 0; number < 200; ++number) own.check(own.recv(0, 0, 10), 0, number);
      own.check(own.recv(0, 1, 1000), 0, 0);
    }
  });
}

void ends_are_named(Transport transport) {
  World world(transport, 2, 2, 128);
  world.add_pairs();
  std::atomic<int> mismatches{0}, aborts{0};
  on_every_rank(2, [&](int rank) {
    Rank own(world, rank, 300ms);
    if (rank == 0) {
      own.messages().wait(own.send(1, 3, 0, 4).transfer);
      REQUIRE(code_of([&] { own.messages().wait(own.recv(1, 3, 4).transfer); }) ==
              ErrorCode::kTimeout);
      const TransferPtr waited = own.messages().waited_for();
      REQUIRE(waited && waited->peer == 1 && waited->kind == Transfer::Kind::kRecv);
      Letter more = own.recv(1, 4, 4);
      world.doorbells[0]->abort();
      if (code_of([&] { own.messages().wait(more.transfer); }) == ErrorCode::kAborted) ++aborts;
      if (code_of([&] { own.recv(1, 4, 4); }) == ErrorCode::kAborted) ++aborts;
    } else {
      try {
        own.messages().wait(own.recv(0, 3, 5).transfer);
      } catch (const Error& error) {
        REQUIRE(std::string(error.what()) ==
                "rank 0 sent 4 int32 with tag 3 to this rank's recv #1 of 5 int32 from rank 0, tag "
                "3");
        if (error.code() == ErrorCode::kMismatch) ++mismatches;
      }
    }
  });
  REQUIRE(mismatches == 1);
  REQUIRE(aborts == 2);
}

}  // namespace
}  // namespace railgauge

int main() {
  using namespace railgauge;
  for (Transport transport : {Transport::kShm, Transport::kSocket, Transport::kSocketHelpers}) {
    for (int ranks : {1, 2, 5}) {
      for (unsigned seed = 0; seed < 2; ++seed) everyone_to_everyone(transport, ranks, seed);
    }
    from_any_rank(transport);
    short_ones_leave_without_their_receiver(transport);
    ends_are_named(transport);
  }
  std::puts("all passed");
}
