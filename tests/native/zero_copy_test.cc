// SPDX-License-Identifier: Apache-2.0
// Every collective on the ranks' own memory: in registered memory, elsewhere, and on some ranks so
// and on others so; a thread per rank, which reads the others' memory as if they were processes.
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/native/case.h"
#include "transports/native/shm/cross_memory.h"
#include "transports/native/shm/memory_left.h"
#include "transports/native/shm/placement.h"

namespace railgauge {
namespace {

constexpr std::size_t kMost = 1 << 16;  // values of one array

// Who has its arrays in registered memory.
enum class Lies { kRegistered, kElsewhere, kMixed };

bool is_registered(Lies lies, int rank, bool source) {
  if (lies == Lies::kMixed) return (rank + source) % 3 != 0;
  return lies == Lies::kRegistered;
}

// Makes a registration on every rank, as transports/registered memory.py does.
std::vector<std::shared_ptr<shm::Segment>> make_registered(World& world, std::size_t bytes) {
  std::vector<std::string> descriptors;
  for (RankConnections& wiring : world.wirings) {
    descriptors.push_back(wiring.segment->registered_memory().make(bytes));
  }
  std::vector<std::shared_ptr<shm::Segment>> own;
  for (int rank = 0; rank < world.ranks(); ++rank) {
    auto others = descriptors;
    others[rank].clear();
    own.push_back(world.wirings[rank].segment->registered_memory().open(others));
  }
  for (RankConnections& wiring : world.wirings) wiring.segment->registered_memory().settle();
  return own;
}

void every_collective(int ranks, Lies lies, bool cross_memory) {
  World world(Transport::kShm, ranks, 2, 128);
  world.add_boards(512);
  const auto sources = make_registered(world, kMost * sizeof(std::int32_t));
  const auto outputs = make_registered(world, kMost * sizeof(std::int32_t));
  on_every_rank(ranks, [&](int rank) {
    shm::SharedSegment& segment = *world.wirings[rank].segment;
    if (cross_memory) {
      REQUIRE(segment.reads_peers());
      segment.allow_cross_memory();
    }
    auto comm = world.communicator(rank, Algorithm::kOneShot);
    Values source(kMost), output(kMost);
    std::int32_t* from = source.data();
    std::int32_t* to = output.data();
    if (is_registered(lies, rank, true))
      from = reinterpret_cast<std::int32_t*>(sources[rank]->data());
    if (is_registered(lies, rank, false))
      to = reinterpret_cast<std::int32_t*>(outputs[rank]->data());
    int zero_copies = 0, others = 0;
    for (int collective = 0; collective < kCollectives; ++collective) {
      const auto kind = static_cast<Collective>(collective);
      comm->zero_copy(kind, {1, 1, ZeroCopySizes::kNever});
      for (std::size_t count : {0, 1, 17, 33, 1000, 6007}) {
        for (int root = 0; root < ranks; root += std::max(1, ranks - 1)) {
          const Case one{kind, ranks, rank, root, count};
          const std::size_t skew = count % 3;  // arrays need not begin where registered memory do
          one.run(*comm, false, from + skew, to + skew, one.output_count() + 16);
          if (one.may_be_in_place()) {
            const std::size_t size =
                std::max(one.input_at() + one.input_count(), one.output_at() + one.output_count());
            one.run(*comm, true, to + skew + one.input_at(), to + skew, size);
          }
          if (count == 0) continue;  // there is nothing to ask for
          const auto ran = comm->recorder().snapshot().back().algorithm;
          ++(ran == static_cast<int>(Algorithm::kZeroCopy) ? zero_copies : others);
        }
      }
    }
    if (ranks == 1) return;
    if (lies == Lies::kRegistered || cross_memory) REQUIRE(others == 0);
    if (lies == Lies::kElsewhere && !cross_memory) REQUIRE(zero_copies == 0);
  });
}

// Whether there is process_vm_readv: QEMU's user emulation has none. Who may not call it fails.
bool kernel_reads_memory() {
  const std::byte from{7};
  std::byte to{};
  const auto address = reinterpret_cast<std::uint64_t>(&from);
  if (shm::read_cross_memory(getpid(), &to, address, 1)) return to == from;
  REQUIRE(errno == ENOSYS);
  std::puts("left out: reads of other processes' memory (no process_vm_readv here)");
  return false;
}

// An operation of another size than said is not run so, nor where one rank's memory is elsewhere.
void sizes_count() {
  World world(Transport::kShm, 2, 2, 128);
  world.add_boards(512);
  const auto own = make_registered(world, 1 << 20);
  on_every_rank(2, [&](int rank) {
    auto comm = world.communicator(rank, Algorithm::kOneShot);
    comm->zero_copy(Collective::kAllReduce, {4096, 2048, 4096});
    world.wirings[rank].segment->allow_cross_memory();
    auto* data = reinterpret_cast<float*>(own[rank]->data());
    auto ran = [&](std::size_t count, float* on) {
      comm->run(all_reduce_of(on, on, count, Dtype::kFloat32, Redop::kSum));
      return comm->recorder().snapshot().back().algorithm == static_cast<int>(Algorithm::kZeroCopy);
    };
    std::vector<float> elsewhere(2048);
    REQUIRE(!ran(511, elsewhere.data()));
    REQUIRE(ran(512, elsewhere.data()));
    REQUIRE(ran(1023, elsewhere.data()));
    REQUIRE(!ran(1024, elsewhere.data()));
    REQUIRE(!ran(511, data));
    REQUIRE(ran(1024, data));
    REQUIRE(ran(1024, data + (1 << 18) - 1024));
    REQUIRE(!ran(2048, rank ? data : elsewhere.data()));
    REQUIRE(ran(900, rank ? data : elsewhere.data()));
  });
}

// What no rank holds is unmapped on all, and no registration's number comes twice.
void registrations_come_and_go() {
  World world(Transport::kShm, 2, 2, 128);
  world.add_boards(512);
  auto& first = world.wirings[0].segment->registered_memory();
  auto& second = world.wirings[1].segment->registered_memory();
  auto one = make_registered(world, 100), two = make_registered(world, 1 << 21);
  REQUIRE(first.bytes() >= 100 + (1 << 21) && first.unused().empty());
  one[0].reset();
  REQUIRE(first.unused() == std::vector<std::int64_t>{0} && second.unused().empty());
  first.release({0});
  second.release({0});
  REQUIRE(first.bytes() == 1 << 21);
  first.make(1);  // the second rank could not
  first.drop();
  second.drop();
  REQUIRE(first.bytes() == 1 << 21);
  auto three = make_registered(world, 1);
  REQUIRE(first.refer(three[0]->data(), 1).registration == 2);
  REQUIRE(first.refer(three[0]->data() - 1, 2).registration == shm::Reference::kNotRegistered);
  REQUIRE(code_of([&] { second.find({2, 1 << 20}, 0, 1); }) == ErrorCode::kInvalid);
  REQUIRE(code_of([&] { second.find({0, 0}, 0, 1); }) == ErrorCode::kInvalid);
}

// A process that is gone, or an address that is none, is a lost peer.
void memory_that_cannot_be_read() {
  World world(Transport::kShm, 2, 2, 128);
  world.add_boards(512);
  std::byte room[8];
  REQUIRE(code_of([&] {
            world.wirings[0].segment->fetch(1, {shm::Reference::kNotRegistered, 8}, room,
                                            sizeof room);
          }) == ErrorCode::kPeerLost);
  REQUIRE(!shm::read_cross_memory(1 << 30, room, 0, sizeof room) && errno == ESRCH);
}

void cores_have_a_node(const std::filesystem::path& folder) {
  for (auto [node, cpus] : {std::pair("node0", "0-3,8"), std::pair("node1", "4-7,9-11")}) {
    std::filesystem::create_directories(folder / node);
    std::ofstream(folder / node / "cpulist") << cpus << "\n";
  }
  auto node_of = [&](std::initializer_list<int> cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu : cpus) CPU_SET(cpu, &set);
    return shm::node_of(set, folder);
  };
  REQUIRE(node_of({0, 3, 8}) == 0 && node_of({9, 11}) == 1);
  REQUIRE(node_of({3, 4}) == -1 && node_of({12}) == -1 && node_of({}) == -1);
  REQUIRE(shm::node_of({}, folder / "absent") == -1);
}

void a_node_that_is_not_there_is_refused() {
  auto segment = shm::Segment::create(1 << 16);
  REQUIRE(!shm::prefer_node(segment->data(), segment->size(), 1000));
  REQUIRE(!shm::prefer_node(segment->data(), segment->size(), -1));
  REQUIRE(!shm::prefer_node(segment->data(), segment->size(), 1 << 20));
  shm::populate(segment->data(), segment->size());
}

void write_file(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

void what_is_left_is_the_least(const std::filesystem::path& root) {
  REQUIRE(shm::memory_left(root) == ~std::size_t{0});
  write_file(root / "proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    1000 kB\nX: 1 kB\n");
  REQUIRE(shm::memory_left(root) == 1000 << 10);
  write_file(root / "proc/self/cgroup", "0::/job/step\n");
  write_file(root / "sys/fs/cgroup/job/step/memory.max", "max\n");
  REQUIRE(shm::memory_left(root) == 1000 << 10);
  write_file(root / "sys/fs/cgroup/job/memory.max", "500000\n");
  write_file(root / "sys/fs/cgroup/job/memory.current", "400000\n");
  REQUIRE(shm::memory_left(root) == 100000);
  write_file(root / "sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file 150000\nfile 9\n");
  REQUIRE(shm::memory_left(root) == 250000);
  write_file(root / "sys/fs/cgroup/job/memory.current", "700000\n");
  REQUIRE(shm::memory_left(root) == 0);
}

// A limit of this process, as long as it lives.
class Limit {
 public:
  using Resource = decltype(RLIMIT_AS);

  Limit(Resource resource, rlim_t limit) : resource_(resource) {
    getrlimit(resource, &before_);
    const rlimit lower{limit, before_.rlim_max};
    setrlimit(resource, &lower);
  }
  ~Limit() { setrlimit(resource_, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

  rlim_t current() const {
    rlimit now{};
    getrlimit(resource_, &now);
    return now.rlim_cur;
  }

 private:
  Resource resource_;
  rlimit before_{};
};

std::string refusal(Limit::Resource resource, rlim_t limit, std::size_t size) {
  const Limit lower(resource, limit);
  try {
    shm::Segment::create_resident(size);
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::kSystem);
    return error.what();
  }
  return "";
}

// What sanitizers map does not fit any limit of addresses.
void limits_are_named() {
  signal(SIGXFSZ, SIG_IGN);
  REQUIRE(
      refusal(RLIMIT_FSIZE, 1 << 20, 1 << 24).find("16777216 bytes (ulimit -f: 1048576 bytes)") !=
      std::string::npos);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlim_t limit = rlim_t{1} << 36;
  if (Limit(RLIMIT_AS, limit).current() != limit) {  // QEMU's user emulation takes none
    std::puts("left out: a limit of addresses is named (setrlimit ignores RLIMIT_AS here)");
    return;
  }
  REQUIRE(refusal(RLIMIT_AS, limit, std::size_t{1} << 37).find("ulimit -v: 68719476736 bytes") !=
          std::string::npos);
#endif
}

}  // namespace
}  // namespace railgauge

int main() {
  using namespace railgauge;
  const bool reads_memory = kernel_reads_memory();
  for (int ranks : {1, 2, 3, 5, 8}) {
    for (Lies lies : {Lies::kRegistered, Lies::kElsewhere, Lies::kMixed}) {
      every_collective(ranks, lies, false);
      if (reads_memory) every_collective(ranks, lies, true);
    }
  }
  if (reads_memory) sizes_count();
  registrations_come_and_go();
  if (reads_memory) memory_that_cannot_be_read();
  std::string name = std::filesystem::temp_directory_path() / "railgauge-zero-copy-XXXXXX";
  const std::filesystem::path scratch = mkdtemp(name.data());
  cores_have_a_node(scratch / "nodes");
  what_is_left_is_the_least(scratch / "root");
  std::filesystem::remove_all(scratch);
  a_node_that_is_not_there_is_refused();
  limits_are_named();
  std::puts("all passed");
}
