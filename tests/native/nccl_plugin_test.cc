// SPDX-License-Identifier: Apache-2.0
// Plays NCCL of each release to the plugin: eight threads, more events than the ring has room for,
// a process that is killed in the middle. Made for sanitizers. `nccl_plugin_test --cost` prints ns
// an event.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "collectives/native/nccl_plugin/abi.h"
#include "collectives/native/nccl_plugin/layout.h"
#include "tests/native/cost.h"
#include "tests/native/require.h"

using namespace railgauge::nccl_plugin;
extern "C" {
extern const Profiler_v1<Event_v1> ncclProfiler_v1;
extern const Profiler_v1<Event_v2> ncclProfiler_v2;
extern const Profiler_v1<Event_v3> ncclProfiler_v3;
extern const Profiler_v4<Event_v4> ncclProfiler_v4;
extern const Profiler_v5<Event_v5> ncclProfiler_v5;
extern const Profiler_v5<Event_v6> ncclProfiler_v6;
extern const Environment_v1 ncclEnvPlugin_v1;
extern const Environment_v2 ncclEnvPlugin_v2;
}

namespace {

constexpr int kThreads = 8;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kMany = 4000;
#else
constexpr int kMany = 125000;
#endif
constexpr std::uint64_t kHash = 0xfeedfacecafe;
pid_t pid = getpid();  // as NCCL keeps its own

// A file as a reader sees it.
class Reader {
 public:
  explicit Reader(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY);
    REQUIRE(fd >= 0);
    struct stat about;
    REQUIRE(!fstat(fd, &about));
    bytes_ = about.st_size;
    map_ = static_cast<const char*>(mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, fd, 0));
    REQUIRE(map_ != MAP_FAILED);
    close(fd);
    REQUIRE(header().magic == kMagic);
  }
  ~Reader() { munmap(const_cast<char*>(map_), bytes_); }
  const FileHeader& header() const { return *reinterpret_cast<const FileHeader*>(map_); }
  const Tables& tables() const { return *reinterpret_cast<const Tables*>(map_ + kHeaderBytes); }
  const Record& at(std::uint64_t index) const {
    return reinterpret_cast<const Record*>(map_ + kRingOffset)[index % header().capacity];
  }
  std::uint64_t first() const {
    const std::uint64_t written = header().written, capacity = header().capacity;
    return written > capacity ? written - capacity : 0;
  }

 private:
  const char* map_;
  std::size_t bytes_;
};

template <class E>
void set_comm(E& event) {
  if constexpr (requires { event.comm; }) event.comm = kHash, event.name = "tp";
}
template <class T>
void set_name(T& field, const char* name, std::uint8_t number) {
  if constexpr (std::is_same_v<T, const char*>)
    field = name;
  else
    field = number;
}

// One operation as NCCL reports it: a call where there are calls, the collective, a channel in the
// kernel, and a proxy operation of two steps. Count and number are one value, so that a record of
// two halves shows.
template <class E, class P>
int play(const P& profiler, void* context, std::uint64_t value) {
  void *call = nullptr, *collective = nullptr, *channel = nullptr, *operation = nullptr;
  int events = 0;
  const auto begin = [&](void** handle, E& event) {
    REQUIRE(profiler.start(context, handle, &event) == kSuccess);
    ++events;
  };
  E event{};
  if constexpr (requires { event.collective_call; }) {
    event.type = kCollectiveCall;
    event.collective_call = {"AllReduce", value, "ncclFloat32", 0, nullptr, false};
    begin(&call, event);
  }
  event = {};
  event.type = kCollective;
  event.parent = call;
  event.rank = 3;
  set_comm(event.collective);
  set_name(event.collective.func, "AllReduce", 4);
  set_name(event.collective.dtype, "ncclFloat32", 7);
  set_name(event.collective.algorithm, "RING", 1);
  set_name(event.collective.protocol, "LL128", 1);
  event.collective.seq = event.collective.count = value;
  event.collective.root = 0;
  event.collective.channels = 2;
  begin(&collective, event);
  profiler.stop(collective);
  profiler.stop(call);
  event = {};
  event.type = kKernelChannel;
  event.parent = collective;
  event.kernel.channel = 1;
  if constexpr (requires { event.kernel.gpu_ns; }) event.kernel.gpu_ns = value;
  begin(&channel, event);
  event = {};
  event.type = kProxyOperation;
  event.parent = collective;
  event.operation = {pid, 1, 2, 2, 4096, 1};
  begin(&operation, event);
  for (int i = 0; i < 2; ++i) {
    void* step = nullptr;
    event = {};
    event.type = kProxyStep;
    event.parent = operation;
    event.step.step = i;
    begin(&step, event);
    StateArguments bytes{4096};
    profiler.state(step, kSendGpuWait, &bytes);
    profiler.state(step, kSendWait, &bytes);
    profiler.stop(step);
  }
  profiler.stop(operation);
  StateArguments gpu{value + 5};
  profiler.state(channel, kKernelChannelStop, &gpu);
  profiler.stop(channel);
  return events;
}

template <class P>
void* context_of(const P& profiler, int* mask) {
  void* context = nullptr;
  if constexpr (requires { profiler.init(&context, mask); })
    REQUIRE(profiler.init(&context, mask) == kSuccess);
  else if constexpr (requires { profiler.init(&context, kHash, mask, "tp", 1, 4, 3, nullptr); })
    REQUIRE(profiler.init(&context, kHash, mask, "tp", 1, 4, 3, nullptr) == kSuccess);
  else
    REQUIRE(profiler.init(&context, mask, "tp", kHash, 1, 4, 3, nullptr) == kSuccess);
  REQUIRE(context);
  return context;
}

int mask;  // NCCL keeps one for all its communicators

template <class E, class P>
std::uint64_t play_from_threads(const P& profiler, int operations) {
  void* context = context_of(profiler, &mask);
  std::atomic<std::uint64_t> events{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::uint64_t own = 0;
      for (int i = 0; i < operations; ++i)
        own += play<E>(profiler, context, std::uint64_t{1} + t * operations + i);
      events += own;
    });
  for (std::thread& thread : threads) thread.join();
  profiler.finalize(context);
  return events;
}

std::uint64_t play_all(int operations) {
  return play_from_threads<Event_v1>(ncclProfiler_v1, operations) +
         play_from_threads<Event_v2>(ncclProfiler_v2, operations) +
         play_from_threads<Event_v3>(ncclProfiler_v3, operations) +
         play_from_threads<Event_v4>(ncclProfiler_v4, operations) +
         play_from_threads<Event_v5>(ncclProfiler_v5, operations) +
         play_from_threads<Event_v6>(ncclProfiler_v6, operations);
}

Kind kind_of(const Record& record) { return static_cast<Kind>(record.what & 0xff); }

// Every record in the ring is whole, or was being written when its process ended.
std::uint64_t count_whole(const Reader& reader, bool all_ended) {
  std::uint64_t whole = 0;
  for (std::uint64_t i = reader.first(); i < reader.header().written; ++i) {
    const Record& record = reader.at(i);
    if (record.sequence != i + 1) continue;
    ++whole;
    const std::uint64_t turn = i / reader.header().capacity;
    REQUIRE(record.end >> 48 == turn);
    REQUIRE(!all_ended || record.end & kDuration);
    REQUIRE((record.what >> 56) < kCommunicators);
    if (kind_of(record) == Kind::kCollective) REQUIRE(record.a == record.b && record.a > 0);
    if (kind_of(record) == Kind::kChannel && record.b && record.c)
      REQUIRE(record.c == record.b + 5);
  }
  return whole;
}

std::string only_file(const std::string& folder, const char* other_than = "") {
  std::string found;
  DIR* listed = opendir(folder.c_str());
  REQUIRE(listed);
  while (const dirent* entry = readdir(listed))
    if (entry->d_name[0] != '.' && strcmp(entry->d_name, other_than)) {
      REQUIRE(found.empty());
      found = entry->d_name;
    }
  closedir(listed);
  REQUIRE(!found.empty());
  return found;
}

void nothing_is_lost_below_the_bound(const std::string& folder) {
  const std::uint64_t events = play_all(20);
  const Reader reader(folder + "/" + only_file(folder));
  REQUIRE(reader.header().written == events && !reader.header().refused);
  REQUIRE(events < reader.header().capacity);
  REQUIRE(count_whole(reader, true) == events);
  const Tables& tables = reader.tables();
  for (int slot = 0; slot < 6; ++slot) {
    REQUIRE(tables.communicators[slot].state == 2 && tables.communicators[slot].rank == 3);
    REQUIRE(tables.communicators[slot].hash == kHash);
    REQUIRE(tables.communicators[slot].operations == 20 * kThreads);
    REQUIRE(!strcmp(tables.communicators[slot].name, "tp"));
  }
  REQUIRE(!strcmp(tables.names[0][0], "AllReduce") && !tables.names[0][1][0]);
  REQUIRE(!strcmp(tables.names[3][0], "LL128"));
}

void the_last_ones_are_kept_and_losses_are_counted(const std::string& folder) {
  play_from_threads<Event_v5>(ncclProfiler_v5, kMany);
  const Reader reader(folder + "/" + only_file(folder));
  const FileHeader& header = reader.header();
  REQUIRE(header.written > header.capacity);
  const std::uint64_t whole = count_whole(reader, false);
  REQUIRE(whole + header.refused >= header.capacity);
  REQUIRE(whole > header.capacity * 99 / 100);
}

// Its file is the child's own, and as good as that of a process that ended well.
void a_killed_process_leaves_its_records(const std::string& folder) {
  const std::string own = only_file(folder);
  int ready[2];
  REQUIRE(!pipe(ready));
  const pid_t child = fork();
  if (!child) {
    pid = getpid();
    void* context = context_of(ncclProfiler_v6, &mask);
    for (std::uint64_t i = 1;; ++i) {
      play<Event_v6>(ncclProfiler_v6, context, i);
      if (i == 1000 && write(ready[1], "", 1) != 1) _exit(1);
    }
  }
  char byte;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  kill(child, SIGKILL);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  const Reader reader(folder + "/" + only_file(folder, own.c_str()));
  REQUIRE(reader.header().written >= 6000);
  REQUIRE(static_cast<pid_t>(reader.header().pid) == child);
  REQUIRE(count_whole(reader, false) + 1 >=
          std::min<std::uint64_t>(reader.header().written, reader.header().capacity));
}

void events_without_a_handle_are_harmless() {
  void* handle = &handle;
  Event_v5 event{};
  event.type = kCollective;
  REQUIRE(ncclProfiler_v5.start(nullptr, &handle, &event) == kSuccess && !handle);
  REQUIRE(ncclProfiler_v5.stop(nullptr) == kSuccess);
  REQUIRE(ncclProfiler_v5.state(nullptr, kSendWait, nullptr) == kSuccess);
  void* context = context_of(ncclProfiler_v5, &mask);
  event.type = kGroup;  // NCCL 2.23 leaves out what belongs to a group without a handle
  REQUIRE(ncclProfiler_v5.start(context, &handle, &event) == kSuccess && handle);
  REQUIRE(ncclProfiler_v5.stop(handle) == kSuccess);
}

// With PXN a proxy works for a rank of another process, whose handle means nothing here.
void a_parent_of_another_process_is_not_followed(const std::string& folder) {
  void* context = context_of(ncclProfiler_v5, &mask);
  void *collective = nullptr, *operation = nullptr;
  Event_v5 event{};
  event.type = kCollective;
  event.collective.func = "AllReduce";
  ncclProfiler_v5.start(context, &collective, &event);
  event = {};
  event.type = kProxyOperation;
  event.parent = collective;
  event.operation = {getpid() + 1, 1, 2, 2, 4096, 1};
  ncclProfiler_v5.start(context, &operation, &event);
  const Reader reader(folder + "/" + only_file(folder));
  const Record& record = reader.at(reinterpret_cast<std::uint64_t>(operation) - 1);
  REQUIRE(kind_of(record) == Kind::kOperation && !record.parent);
  REQUIRE((record.what >> 8 & 0xff) == (kSends | kForeignParent));
}

void variables_are_counted(const std::string& folder) {
  REQUIRE(ncclEnvPlugin_v1.init(2, 29, 2, "") == kSuccess);
  REQUIRE(ncclEnvPlugin_v2.init(2, 30, 7, "+cuda13.0", nullptr) == kSuccess);
  setenv("NCCL_ALGO", "Ring", 1);
  for (int i = 0; i < 3; ++i) REQUIRE(!strcmp(ncclEnvPlugin_v2.get("NCCL_ALGO"), "Ring"));
  REQUIRE(!ncclEnvPlugin_v2.get("NCCL_PROTO"));
  const Reader reader(folder + "/" + only_file(folder));
  REQUIRE(reader.header().nccl == 23007 && reader.header().environment == 2);
  const Variable* variables = reader.tables().variables;
  REQUIRE(!strcmp(variables[0].name, "NCCL_ALGO") && !strcmp(variables[0].value, "Ring"));
  REQUIRE(variables[0].reads == 3 && variables[0].origin == 2 && variables[1].origin == 0);
}

// On a machine whose cores are busy the last figure is too low: the other thread has to run.
void print_cost() {
  void* context = context_of(ncclProfiler_v5, &mask);
  const int events = play<Event_v5>(ncclProfiler_v5, context, 1);
  const auto played = [&](int i) { play<Event_v5>(ncclProfiler_v5, context, i); };
  const double alone = least_ns(played) / events;
  std::atomic<bool> ends{false};
  std::thread other([&] {
    for (int i = 1; !ends; ++i) played(i);
  });
  const double beside = least_ns(played) / events;
  ends = true;
  other.join();
  printf(
      "%.0f ns an event with its end and its states, %.1f times a call that reads the clock; %.0f "
      "ns "
      "while another thread records\n",
      alone, alone / clock_ns(), beside);
}

}  // namespace

int main(int count, char** arguments) {
  std::string made = std::filesystem::temp_directory_path() / "nccl-plugin-XXXXXX";
  const char* folder = mkdtemp(made.data());
  REQUIRE(folder);
  setenv("RAILGAUGE_NCCL_RECORD", folder, 1);
  setenv("RAILGAUGE_NCCL_LEVEL", "net", 1);
  setenv("RAILGAUGE_NCCL_MIB", "8", 1);
  if (count > 1 && !strcmp(arguments[1], "--cost")) {
    setenv("RAILGAUGE_NCCL_MIB", "64", 1);  // the default
    print_cost();
  } else {
    variables_are_counted(folder);
    nothing_is_lost_below_the_bound(folder);
    events_without_a_handle_are_harmless();
    a_parent_of_another_process_is_not_followed(folder);
    the_last_ones_are_kept_and_losses_are_counted(folder);
    a_killed_process_leaves_its_records(folder);
  }
  std::filesystem::remove_all(folder);
}
