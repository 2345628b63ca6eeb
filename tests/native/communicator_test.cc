// SPDX-License-Identifier: Apache-2.0
// Communicators of C++ programs, a thread per rank: every operation over shared memory, over
// sockets and over both, and what goes wrong. Made for sanitizers.
#include "collectives/native/communicator.h"

#include <arpa/inet.h>

#include <barrier>
#include <mutex>
#include <numeric>
#include <sstream>

#include "tests/native/world.h"
#include "transports/native/rendezvous.h"

namespace railgauge {
namespace {

using Options = Communicator::Options;

// Where the threads of a test meet. With `outsiders` others connect as soon as a rank says where it
// listens.
class Meeting {
 public:
  explicit Meeting(int ranks, bool outsiders = false)
      : told_(ranks), arrived_(ranks), outsiders_(outsiders) {}

  std::vector<std::string> all_gather(int rank, const std::string& own) {
    if (outsiders_ && own.starts_with("net ")) intrude(rank, own);
    told_[rank] = own;
    arrived_.arrive_and_wait();
    std::vector<std::string> all = told_;
    arrived_.arrive_and_wait();
    return all;
  }
  void leave() { arrived_.arrive_and_drop(); }

 private:
  // One says nothing, one something else, one is the other of two ranks, with another token.
  void intrude(int rank, const std::string& offer) {
    std::istringstream text(offer);
    std::string net, host, name(28, '\0');
    int port = 0;
    text >> net >> host >> port;
    name[23] = static_cast<char>(1 - rank);
    name[27] = static_cast<char>(rank);
    for (const std::string& said : {std::string(), std::string("GET / HTTP/1.1\r\n\r\n"), name}) {
      sockaddr_in there{};
      there.sin_family = AF_INET;
      there.sin_port = htons(static_cast<std::uint16_t>(port));
      there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      REQUIRE(connect(fd.get(), reinterpret_cast<sockaddr*>(&there), sizeof there) == 0);
      REQUIRE(send(fd.get(), said.data(), said.size(), MSG_NOSIGNAL) ==
              static_cast<ssize_t>(said.size()));
      std::lock_guard lock(mutex_);
      intruders_.push_back(std::move(fd));
    }
  }

  std::vector<std::string> told_;
  std::barrier<> arrived_;
  bool outsiders_;
  std::mutex mutex_;
  std::vector<Fd> intruders_;
};

class AtMeeting final : public Rendezvous {
 public:
  AtMeeting(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}
  std::vector<std::string> all_gather(const std::string& own) override {
    return meeting_.all_gather(rank_, own);
  }

 private:
  Meeting& meeting_;
  int rank_;
};

enum class By { kMemory, kSockets, kBoth };

// Of both, the first two ranks share memory.
Options options_of(By by, int rank) {
  Options options;
  options.timeout = 20s;
  options.share_memory = by == By::kMemory || (by == By::kBoth && rank < 2);
  if (by != By::kMemory) options.address = "127.0.0.1";
  return options;
}

std::vector<int> values(std::size_t count, int first) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

void every_operation(Communicator& comm, int rank, int ranks, std::size_t count) {
  const int n = static_cast<int>(count), total = n * ranks;
  const std::vector<int> own = values(count, rank * n), everything = values(count * ranks, 0);
  std::vector<int> part(count), whole(count * ranks);

  comm.all_gather(own.data(), whole.data(), count, Dtype::kInt32);
  REQUIRE(whole == everything);
  comm.all_reduce(everything.data(), whole.data(), count * ranks, Dtype::kInt32);
  for (int i = 0; i < total; ++i) REQUIRE(whole[i] == ranks * i);
  comm.all_reduce(whole.data(), whole.data(), count * ranks, Dtype::kInt32, Redop::kMax);
  for (int i = 0; i < total; ++i) REQUIRE(whole[i] == ranks * i);
  comm.reduce_scatter(everything.data(), part.data(), count, Dtype::kInt32);
  for (int i = 0; i < n; ++i) REQUIRE(part[i] == ranks * own[i]);
  const int root = ranks - 1;
  comm.broadcast(rank == root ? own.data() : nullptr, part.data(), count, Dtype::kInt32, root);
  REQUIRE(part == values(count, root * n));
  comm.reduce(own.data(), rank == root ? part.data() : nullptr, count, Dtype::kInt32, Redop::kMin,
              root);
  REQUIRE(part == values(count, rank == root ? 0 : root * n));
  comm.all_to_all(everything.data(), whole.data(), count, Dtype::kInt32);
  for (int i = 0; i < total; ++i) REQUIRE(whole[i] == own[i % n]);
  comm.barrier();
}

void operations(By by, int ranks, bool outsiders = false) {
  Meeting meeting(ranks, outsiders);
  on_every_rank(ranks, [&](int rank) {
    AtMeeting here(meeting, rank);
    Communicator comm(here, rank, ranks, options_of(by, rank));
    REQUIRE(comm.rank() == rank && comm.ranks() == ranks);
    for (std::size_t count : {1, 10, 1000, 100000}) every_operation(comm, rank, ranks, count);
  });
}

void messages(By by, int ranks) {
  Meeting meeting(ranks);
  on_every_rank(ranks, [&](int rank) {
    AtMeeting here(meeting, rank);
    Options options = options_of(by, rank);
    options.point_to_point = true;
    Communicator comm(here, rank, ranks, options);
    const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    for (std::size_t count : {1, 100000}) {
      const std::vector<int> given = values(count, rank);
      std::vector<int> got(count), again(count);
      auto second = comm.recv(again.data(), count, Dtype::kInt32, previous, 7);
      auto first = comm.recv(got.data(), count, Dtype::kInt32, Communicator::kAnyRank, 3);
      auto sent = comm.send(given.data(), count, Dtype::kInt32, next, 3);
      comm.send(given.data(), count, Dtype::kInt32, next, 7).wait();
      first.wait();
      second.wait();
      sent.wait();
      REQUIRE(first.done() && first.source() == previous);
      REQUIRE(got == values(count, previous) && again == got);
    }
    comm.barrier();
  });
}

// What the ranks' constructors throw.
std::vector<std::string> refusals(int ranks, const std::function<Options(int)>& options,
                                  const Communicator::Rings& rings = {}) {
  Meeting meeting(ranks);
  std::vector<std::string> errors(ranks);
  on_every_rank(ranks, [&](int rank) {
    AtMeeting here(meeting, rank);
    try {
      Communicator comm(here, rank, ranks, options(rank), rings);
    } catch (const Error& error) {
      errors[rank] = error.what();
    }
    meeting.leave();
  });
  return errors;
}

void what_cannot_be_made_says_why() {
  const auto alone = [](int) {
    Options options;
    options.share_memory = false;
    return options;
  };
  for (const std::string& error : refusals(2, alone)) {
    REQUIRE(error.find("is on another host: Options::address must be") != std::string::npos);
  }
  const auto invalid = [&](int rank) {
    Options options = alone(rank);
    options.address = "localhost:1";
    return options;
  };
  for (const std::string& error : refusals(2, invalid)) {
    REQUIRE(error == "not an IP address: 'localhost:1'");
  }
  const auto plain = [](int) { return Options(); };
  for (const std::string& error : refusals(2, plain, {{0, 2}})) {
    REQUIRE(error.starts_with("the plan is not for 2 ranks"));
  }
  Meeting meeting(1);
  AtMeeting here(meeting, 0);
  REQUIRE(code_of([&] { Communicator(here, 1, 1); }) == ErrorCode::kInvalid);
  REQUIRE(code_of([&] { Communicator(here, 0, 2); }) == ErrorCode::kMismatch);
}

void wrong_arguments_change_nothing() {
  Meeting meeting(2);
  on_every_rank(2, [&](int rank) {
    AtMeeting here(meeting, rank);
    Communicator comm(here, rank, 2);
    std::vector<float> data(8, 1), other(8);
    const auto refused = [](const std::function<void()>& call) {
      return code_of(call) == ErrorCode::kInvalid;
    };
    auto* odd = reinterpret_cast<std::byte*>(data.data()) + 1;
    const Dtype type = Dtype::kFloat32;
    REQUIRE(refused([&] { comm.broadcast(data.data(), other.data(), 8, type, 2); }));
    REQUIRE(refused([&] { comm.all_reduce(data.data(), other.data(), 8, type, Redop::kBitOr); }));
    REQUIRE(refused([&] { comm.all_reduce(nullptr, other.data(), 8, type); }));
    REQUIRE(refused([&] { comm.all_reduce(odd, other.data(), 1, type); }));
    REQUIRE(refused([&] { comm.all_reduce(data.data(), data.data() + 1, 4, type); }));
    REQUIRE(refused([&] { comm.all_to_all(data.data(), data.data(), 4, type); }));
    REQUIRE(
        refused([&] { comm.all_gather(data.data(), other.data(), ~std::size_t{0} / 4, type); }));
    REQUIRE(refused([&] { comm.send(data.data(), 8, type, 1 - rank).wait(); }));
    comm.all_reduce(data.data(), data.data(), 8, type);
    REQUIRE(data == std::vector<float>(8, 2));
  });
}

void waits_end(By by) {
  for (const bool aborts : {true, false}) {
    Meeting meeting(2);
    on_every_rank(2, [&](int rank) {
      AtMeeting here(meeting, rank);
      Options options = options_of(by, rank);
      if (!aborts) options.timeout = 100ms;
      Communicator comm(here, rank, 2, options);
      if (rank == 0) {
        std::thread other([&] {
          if (aborts) comm.abort();
        });
        REQUIRE(code_of([&] { comm.barrier(); }) ==
                (aborts ? ErrorCode::kAborted : ErrorCode::kTimeout));
        other.join();
      }
      meeting.all_gather(rank, "");
    });
  }
}

void a_rank_that_ended_is_named() {
  Meeting meeting(2);
  on_every_rank(2, [&](int rank) {
    AtMeeting here(meeting, rank);
    auto comm = std::make_unique<Communicator>(here, rank, 2, options_of(By::kSockets, rank));
    if (rank == 1) return;
    try {
      comm->barrier();
      REQUIRE(!"the other rank has ended");
    } catch (const PeerLost& error) {
      REQUIRE(error.rank() == 1);
    }
  });
}

}  // namespace
}  // namespace railgauge

int main() {
  using namespace railgauge;
  for (int ranks : {1, 2, 5}) operations(By::kMemory, ranks);
  for (int ranks : {2, 3}) operations(By::kSockets, ranks);
  operations(By::kBoth, 4);
  operations(By::kSockets, 2, true);
  messages(By::kMemory, 3);
  messages(By::kBoth, 3);
  what_cannot_be_made_says_why();
  wrong_arguments_change_nothing();
  waits_end(By::kMemory);
  waits_end(By::kSockets);
  a_rank_that_ended_is_named();
}
