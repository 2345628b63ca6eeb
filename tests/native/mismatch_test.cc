// SPDX-License-Identifier: Apache-2.0
// Ranks that do not run the same, a thread per rank: somebody is told so, in words, by the next
// operation in which anybody reads what another one sent. Made for sanitizers.
#include "tests/native/world.h"

namespace railgauge {
namespace {

constexpr std::size_t kCount = 8;
const Operation kSum{Collective::kAllReduce, nullptr,     nullptr, kCount,
                     Dtype::kInt32,          Redop::kSum, 0};

Operation rooted(Collective collective, int root, std::size_t count = kCount) {
  return {collective, nullptr, nullptr, count, Dtype::kInt32, Redop::kSum, root};
}

// What each rank is told when it runs what `body` says; empty: nothing.
std::vector<std::string> told(World& world, const std::function<Algorithm(int)>& algorithm,
                              const std::function<void(HostEngine&, int)>& body) {
  std::vector<std::string> errors(world.ranks());
  on_every_rank(world.ranks(), [&](int rank) {
    auto comm = world.communicator(rank, algorithm(rank));
    try {
      body(*comm, rank);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kMismatch) errors[rank] = error.what();
      for (auto& doorbell : world.doorbells) doorbell->abort();
    }
  });
  return errors;
}

void require_named(const std::vector<std::string>& errors, const std::string& words) {
  for (const std::string& error : errors) {
    if (error.find(words) != std::string::npos) return;
  }
  for (const std::string& error : errors) std::fprintf(stderr, "told: '%s'\n", error.c_str());
  REQUIRE(!"nobody was told");
}

void run(HostEngine& comm, Operation operation) {
  std::vector<std::int32_t> in(kCount * comm.ranks(), 1), out(kCount * comm.ranks());
  operation.source = reinterpret_cast<const std::byte*>(in.data());
  operation.destination = reinterpret_cast<std::byte*>(out.data());
  comm.run(operation);
}

// Operations in which nobody reads, or not those who differ, and then one in which all do.
void shows_later(int ranks, Algorithm algorithm, const std::function<Operation(int)>& of_rank,
                 const std::string& words) {
  World world(Transport::kShm, ranks, 2, 128);
  world.add_ring(iota(ranks, 0));
  world.add_boards(1024);
  const auto errors = told(
      world, [&](int) { return algorithm; },
      [&](HostEngine& comm, int rank) {
        run(comm, of_rank(rank));
        run(comm, kSum);
      });
  require_named(errors, words);
}

void different_algorithms_are_named() {
  World world(Transport::kShm, 2, 2, 128);
  world.add_boards(1024);
  const auto errors = told(
      world, [](int rank) { return rank ? Algorithm::kTwoShot : Algorithm::kOneShot; },
      [](HostEngine& comm, int) { run(comm, kSum); });
  require_named(errors, "runs all_reduce #1 of 8 int32, sum by ");
  require_named(errors, "this rank by ");
}

void a_barrier_is_no_all_reduce() {
  World world(Transport::kShm, 2, 2, 128);
  world.add_boards(1024);
  const auto errors = told(
      world, [](int) { return Algorithm::kOneShot; },
      [](HostEngine& comm, int rank) {
        std::byte one{};
        rank ? comm.barrier()
             : comm.run({Collective::kAllReduce, &one, &one, 1, Dtype::kUint8, Redop::kMax, 0});
      });
  require_named(errors, "all_reduce #1 of 1 uint8, max");
  require_named(errors, "barrier #1");
}

// Rank 0 gives rank 1 five elements, and rank 1 expects none.
void a_part_that_nobody_expects_is_named(Transport transport) {
  World world(transport, 2, 2, 128);
  world.add_pairs();
  const auto errors = told(
      world, [](int) { return Algorithm::kPairs; },
      [](HostEngine& comm, int rank) {
        std::vector<std::int32_t> in(kCount), out(kCount);
        const std::vector<Part> none(2, Part{0, 0});
        const std::vector<Part> to = rank ? none : std::vector<Part>{{0, 0}, {0, 5}};
        comm.all_to_all_v(reinterpret_cast<const std::byte*>(in.data()), to,
                          reinterpret_cast<std::byte*>(out.data()), none, Dtype::kInt32);
      });
  require_named(errors, "rank 0 sent 20 bytes where 0 were expected");
}

void pairs_that_are_not_connected_are_refused() {
  World world(Transport::kShm, 2, 2, 128);
  on_every_rank(2, [&](int rank) {
    auto comm = world.communicator(rank, Algorithm::kPairs);
    std::vector<std::byte> in(64), out(64);
    const std::vector<Part> parts(2, Part{0, 1});
    REQUIRE(code_of([&] { run(*comm, rooted(Collective::kAllToAll, 0)); }) == ErrorCode::kInvalid);
    REQUIRE(code_of([&] {
              comm->all_to_all_v(in.data(), parts, out.data(), parts, Dtype::kUint8);
            }) == ErrorCode::kInvalid);
    REQUIRE(!comm->is_amid());
  });
}

}  // namespace
}  // namespace railgauge

int main() {
  using namespace railgauge;
  const std::string before = "operations before it differ";
  const auto own_root = [](int rank) { return rooted(Collective::kBroadcast, rank); };
  const auto other_roots = [](int rank) {
    return rooted(Collective::kReduce, rank == 0 ? 1 : rank == 1 ? 2 : 0);
  };
  const auto another = [](int rank) {
    return rooted(rank ? Collective::kReduce : Collective::kBroadcast, 0);
  };
  const auto another_count = [](int rank) {
    return rooted(rank ? Collective::kGather : Collective::kBroadcast, 0, rank ? 3 : kCount);
  };
  for (int ranks : {2, 3}) shows_later(ranks, Algorithm::kOneShot, own_root, before);
  shows_later(3, Algorithm::kOneShot, other_roots, before);
  shows_later(2, Algorithm::kOneShot, another, before);
  shows_later(2, Algorithm::kOneShot, another_count, before);
  shows_later(2, Algorithm::kRing, own_root, "sent data of another operation");
  different_algorithms_are_named();
  a_barrier_is_no_all_reduce();
  for (Transport transport : {Transport::kShm, Transport::kSocket, Transport::kSocketHelpers}) {
    a_part_that_nobody_expects_is_named(transport);
  }
  pairs_that_are_not_connected_are_refused();
  std::puts("all passed");
}
