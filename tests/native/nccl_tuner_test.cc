// SPDX-License-Identifier: Apache-2.0
// Plays NCCL of each release to the tuner plugin: what is measured as faster is chosen, all else is
// left alone, and no table ends a job. Each case is a process of its own, since tables are read
// once. Made for sanitizers. `nccl_tuner_test --cost` prints ns a question of NCCL.
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "collectives/native/nccl_plugin/tuner_abi.h"
#include "collectives/native/nccl_plugin/tuning.h"
#include "tests/native/cost.h"
#include "tests/native/fake_gpu.h"
#include "tests/native/require.h"

using namespace railgauge::nccl_plugin;
extern "C" {
extern const Tuner_v2 ncclTunerPlugin_v2;
extern const Tuner_v3 ncclTunerPlugin_v3;
extern const Tuner_v4 ncclTunerPlugin_v4;
extern const Tuner_v5 ncclTunerPlugin_v5;
extern const Tuner_v6 ncclTunerPlugin_v6;
}

namespace {

constexpr int kAlgorithms = 7, kProtocols = 3, kThreads = 8, kNotSet = 63;
constexpr std::size_t kKib = 1 << 10, kMib = 1 << 20;

std::string folder;

// Two sizes with gains among three, as `tune nccl` writes them, with what it writes beside.
const std::string kTable = R"({
  "schema": "railgauge/nccl-tuning/1", "version": "1.0", "host": "node\u00e91\n",
  "collective": "all_reduce", "ranks": 2, "nodes": 1, "nccl": "2.28.9", "gpus": ["A", "fake GPU"],
  "turns": 5, "least_gain": 0.05, "settings": [{"environment": {}, "why_not": null}],
  "rows": [
    {"bytes": 65536, "algorithm": "ring", "protocol": "ll", "channels": 8, "times_us": [10.1, -1e-3],
     "faster": [], "measured": []},
    {"bytes": 2097152, "algorithm": "ring", "protocol": "simple", "channels": 24,
     "faster": [
      {"algorithm": null, "protocol": null, "channels": 4, "sets_channels": true},
      {"algorithm": "ring", "protocol": "ll", "channels": 48, "sets_channels": true},
      {"algorithm": "ring", "protocol": "ll128", "channels": 12, "sets_channels": true},
      {"algorithm": "tree", "protocol": "ll", "channels": 24, "sets_channels": false}]},
    {"bytes": 67108864, "algorithm": "ring", "protocol": "simple", "channels": 24,
     "faster": [{"algorithm": "tree", "protocol": "simple", "channels": 24, "sets_channels": false}]}
  ]
})";

std::string with(const std::string& before, const std::string& after) {
  std::string text = kTable;
  const std::size_t at = text.find(before);
  REQUIRE(at != std::string::npos);
  return text.replace(at, before.size(), after);
}

std::string write(const std::string& text, const std::string& name = "gains.json") {
  const std::string path = folder + "/" + name;
  std::ofstream(path) << text;
  return path;
}

std::mutex log_mutex;
std::vector<std::string> warnings, infos;
void keep(int level, unsigned long, const char*, int, const char* format, ...) {
  char text[8192];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const std::lock_guard lock(log_mutex);
  (level == kLogWarn ? warnings : infos).push_back(text);
}

// What NCCL has chosen by when it asks, and what came of it.
struct Question {
  Question() {
    for (int i = 0; i < kAlgorithms * kProtocols; ++i) costs[i] = 100.0f + i;
  }
  float& cost(int algorithm, int protocol) { return costs[algorithm * kProtocols + protocol]; }
  bool operator==(const Question&) const = default;

  std::array<float, kAlgorithms * kProtocols> costs;
  int algorithm = -1, protocol = -1, channels = kNotSet;
};

// NCCL with one version of the plugin. Its adapters for v2 set the cost of what was chosen.
class Nccl {
 public:
  explicit Nccl(int api) : api_(api) {}

  void* init(std::size_t ranks = 2, std::size_t nodes = 1) const {
    void* context = &folder;
    switch (api_) {
      case 2:
        REQUIRE(!ncclTunerPlugin_v2.init(ranks, nodes, keep, &context));
        break;
      case 3:
        REQUIRE(!ncclTunerPlugin_v3.init(ranks, nodes, keep, &context));
        break;
      case 4:
        REQUIRE(!ncclTunerPlugin_v4.init(ranks, nodes, keep, &context));
        break;
      case 5:
        REQUIRE(!ncclTunerPlugin_v5.init(&context, 1, ranks, nodes, keep, nullptr, nullptr));
        break;
      default:
        REQUIRE(!ncclTunerPlugin_v6.init(&context, 1, ranks, nodes, keep, nullptr, nullptr));
        REQUIRE(!ncclTunerPlugin_v6.chunk_bytes);
    }
    return context;
  }

  void choose(void* context, std::size_t bytes, Question& asked, int function = kAllReduce,
              int operations = 1, int algorithms = kAlgorithms) const {
    float** costs = reinterpret_cast<float**>(asked.costs.data());
    switch (api_) {
      case 2:
        REQUIRE(!ncclTunerPlugin_v2.choose(context, function, bytes, has_collnet, has_nvls,
                                           operations, &asked.algorithm, &asked.protocol,
                                           &asked.channels));
        if (asked.algorithm >= 0 && asked.cost(asked.algorithm, asked.protocol) >= 0)
          asked.cost(asked.algorithm, asked.protocol) = 0;
        asked.algorithm = asked.protocol = -1;
        break;
      case 3:
        REQUIRE(!ncclTunerPlugin_v3.choose(context, function, bytes, operations, costs, algorithms,
                                           kProtocols, &asked.channels));
        break;
      default: {
        const auto ask = api_ == 4   ? ncclTunerPlugin_v4.choose
                         : api_ == 5 ? ncclTunerPlugin_v5.choose
                                     : ncclTunerPlugin_v6.choose;
        REQUIRE(!ask(context, function, bytes, operations, costs, algorithms, kProtocols,
                     is_registered, &asked.channels));
      }
    }
  }

  // What it makes of costs that no entry of is below 0.
  Question chosen(void* context, std::size_t bytes, int function = kAllReduce,
                  int operations = 1) const {
    Question asked;
    choose(context, bytes, asked, function, operations);
    return asked;
  }

  void finalize(void* context) const {
    REQUIRE(!(api_ == 2   ? ncclTunerPlugin_v2.finalize
              : api_ == 3 ? ncclTunerPlugin_v3.finalize
              : api_ == 4 ? ncclTunerPlugin_v4.finalize
              : api_ == 5 ? ncclTunerPlugin_v5.finalize
                          : ncclTunerPlugin_v6.finalize)(context));
  }
  int has_collnet = 0, has_nvls = 0, is_registered = 0;

 private:
  int api_;
};

Question zero_at(int algorithm, int protocol, int channels = kNotSet) {
  Question wanted;
  wanted.cost(algorithm, protocol) = 0;
  wanted.channels = channels;
  return wanted;
}
const Question kUntouched;

void in_a_process(const std::function<void()>& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (!child) {
    body();
    _exit(0);
  }
  int status;
  REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

// With a table of its own.
void with_table(const std::string& text, const std::function<void()>& body) {
  in_a_process([&] {
    setenv("RAILGAUGE_NCCL_TUNE", write(text).c_str(), 1);
    body();
  });
}

void what_is_faster_is_chosen(int api) {
  const Nccl nccl(api);
  with_table(kTable, [&] {
    void* context = nccl.init();
    REQUIRE(context && warnings.empty() && infos.size() == 1);
    REQUIRE(infos[0].find("tuning all_reduce at 2 of 3 sizes") != std::string::npos);
    // 48 channels are more than NCCL has by itself; v2 cannot set a number.
    REQUIRE(nccl.chosen(context, 2 * kMib) ==
            (api == 2 ? zero_at(kTree, kLl) : zero_at(kRing, kLl128, 12)));
    REQUIRE(nccl.chosen(context, 64 * kMib) == zero_at(kTree, kSimple));
    REQUIRE(nccl.chosen(context, 64 * kKib) == kUntouched);
    REQUIRE(nccl.chosen(context, 64 * kMib, kAllGather) == kUntouched);
    REQUIRE(nccl.chosen(context, 64 * kMib, kAllReduce, 2) == kUntouched);
    nccl.finalize(context);
  });
}

void the_nearest_size_counts_half_the_way_to_the_next_of_sizes_that_double(int api) {
  const Nccl nccl(api);
  with_table(kTable, [&] {
    void* context = nccl.init();
    const auto is_chosen = [&](std::size_t bytes) {
      return nccl.chosen(context, bytes) != kUntouched;
    };
    for (const std::size_t bytes :
         {std::size_t{1482911}, std::size_t{2965820}, std::size_t{47453133}, std::size_t{94906265}})
      REQUIRE(is_chosen(bytes));
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, kMib, std::size_t{1482910}, std::size_t{2965821},
          4 * kMib, std::size_t{47453132}, std::size_t{94906266}, ~std::size_t{0}})
      REQUIRE(!is_chosen(bytes));
  });
  with_table(with("67108864", "4194304"), [&] {  // between two that are near, the nearer by ratio
    void* context = nccl.init();
    REQUIRE(nccl.chosen(context, 2965820) != zero_at(kTree, kSimple));
    REQUIRE(nccl.chosen(context, 2965821) == zero_at(kTree, kSimple));
  });
}

void what_nccl_cannot_use_stays_so(int api) {
  Nccl nccl(api);
  with_table(kTable, [&] {
    void* context = nccl.init();
    Question asked;
    for (float& cost : asked.costs) cost = -1;
    asked.cost(kRing, kSimple) = 3;
    const Question before = asked;
    nccl.choose(context, 2 * kMib, asked);
    REQUIRE(asked == before);
  });
  with_table(with(R"("tree", "protocol": "simple")", R"("pat", "protocol": "simple")"), [&] {
    void* context = nccl.init();
    Question asked;
    nccl.choose(context, 64 * kMib, asked, kAllReduce, 1, kPat);  // a release without PAT
    REQUIRE(asked == kUntouched);
  });
  if (api == 2)
    with_table(with(R"("tree", "protocol": "simple")", R"("nvls", "protocol": "simple")"), [&] {
      void* context = nccl.init();
      REQUIRE(nccl.chosen(context, 64 * kMib) == kUntouched);
      nccl.has_nvls = 1;
      REQUIRE(nccl.chosen(context, 64 * kMib) == zero_at(kNvls, kSimple));
    });
}

void what_a_rank_has_registered_decides_nothing(int api) {
  Nccl nccl(api);
  with_table(kTable, [&] {
    void* context = nccl.init();
    const Question before = nccl.chosen(context, 2 * kMib);
    nccl.is_registered = 1;
    REQUIRE(nccl.chosen(context, 2 * kMib) == before);
  });
}

// Then the table holds NCCL's own choice where nothing is faster.
void more_channels_are_used_where_the_job_has_them(int api) {
  const Nccl nccl(api);
  with_table(kTable, [&] {
    setenv("NCCL_MIN_NCHANNELS", "48", 1);
    void* context = nccl.init();
    REQUIRE(nccl.chosen(context, 2 * kMib) ==
            (api == 2 ? zero_at(kTree, kLl) : zero_at(kRing, kLl, 48)));
    REQUIRE(nccl.chosen(context, 64 * kMib) == zero_at(kTree, kSimple, api == 2 ? kNotSet : 24));
    REQUIRE(nccl.chosen(context, 64 * kKib) == (api == 2 ? kUntouched : zero_at(kRing, kLl, 8)));
  });
}

void refused_once(int api, const std::string& text, const std::string& why, std::size_t ranks = 2,
                  std::size_t nodes = 1) {
  with_table(text, [&] {
    const Nccl nccl(api);
    for (int turn = 0; turn < 3; ++turn) {
      void* context = nccl.init(ranks, nodes);
      for (const std::size_t bytes : {64 * kKib, 2 * kMib, 64 * kMib})
        REQUIRE(nccl.chosen(context, bytes) == kUntouched);
    }
    REQUIRE(warnings.size() == 1 && infos.empty());
    REQUIRE(warnings[0].find(why) != std::string::npos);
    REQUIRE(warnings[0].find("gains.json") != std::string::npos);
    REQUIRE(warnings[0].find('\n') == std::string::npos);
  });
}

void another_machine_or_release_is_refused(int api) {
  refused_once(api, kTable, "measured with ranks 2, nodes 1; this communicator has ranks 4", 4);
  refused_once(api, kTable, "this communicator has ranks 2, nodes 2", 2, 2);
  refused_once(api, with("2.28.9", "2.28.3"), "measured with NCCL 2.28.3; this is NCCL 2.28.9");
  refused_once(api, with("fake GPU", "B"), "measured with other GPUs; this GPU is fake GPU");
  fake_gpu_name = nullptr;
  refused_once(api, kTable, "this GPU is unknown");
  for (const std::string name : {"unknown", ""})
    refused_once(api, with("fake GPU", name), "this GPU is unknown");
  fake_gpu_name = "fake GPU";
  with_table(kTable, [&] {  // a part of the ranks does not keep all of them from it
    const Nccl nccl(api);
    REQUIRE(!nccl.init(1) && nccl.init(2) && warnings.size() == 1);
  });
}

void garbage_is_refused(int api) {
  for (const std::string text : {"", "null", "[]", "{", "{}", "\"", "{\"rows\": [[]]}"})
    refused_once(api, text, "it is not ");
  refused_once(api, std::string(100, '['), "it is not such a document from byte 0 on");
  refused_once(api, R"({"x": )" + std::string(100000, '['), "it is not such a document");
  refused_once(api, kTable + "x", "it is not such a document");
  refused_once(api, with("tuning/1", "tuning/2"), "it is not railgauge/nccl-tuning/1");
  refused_once(api, with("all_reduce", "alltoall"), "no collective that NCCL has a choice for");
  refused_once(api, with(R"("ranks": 2)", R"("ranks": -2)"), "it is not such a document");
  refused_once(api, with("2.28.9", "newest"), "with which ranks and NCCL");
  refused_once(api, with(R"("2.28.9")", "null"), "with which ranks and NCCL");
  refused_once(api, with(R"(, "gpus": ["A", "fake GPU"])", ""), "measure again");
  refused_once(api, with(R"("faster": [],)", ""), "measure again");
  refused_once(api, with("2097152", "65536"), "its sizes are not in order");
  refused_once(api, with(R"("ll", "channels": 48)", R"("lll", "channels": 48)"), "has not");
  refused_once(api, with("48", "65"), "it is not such a document");
  refused_once(api, with("2097152", "9999999999999999999"), "it is not such a document");
}

void sizes_have_a_bound() {
  std::string rows = R"({"bytes": 1, "faster": []})";
  for (int i = 2; i <= 1025; ++i)
    rows.append(R"(, {"bytes": )").append(std::to_string(i)).append(R"(, "faster": []})");
  const std::string head = kTable.substr(0, kTable.find("\"rows\": [")) + "\"rows\": [";
  refused_once(6, head + rows + "]}", "more than 1024 sizes");
}

void what_is_no_file_is_refused(int api) {
  const auto refused = [&](const std::string& path, const std::string& why) {
    in_a_process([&] {
      setenv("RAILGAUGE_NCCL_TUNE", path.c_str(), 1);
      REQUIRE(!Nccl(api).init() && warnings.size() == 1);
      REQUIRE(warnings[0].find(why) != std::string::npos);
    });
  };
  refused(folder, "it is not a file");
  refused(folder + "/none", "it cannot be opened");
  const std::string pipe = folder + "/pipe", huge = write("", "huge");
  REQUIRE(!mkfifo(pipe.c_str(), 0600) && !truncate(huge.c_str(), (32 << 20) + 1));
  refused(pipe, "it is not a file");
  refused(huge, "it is larger than 32 MiB");
  refused("", "RAILGAUGE_NCCL_TUNE is not set");
  refused(std::string(5000, 'x'), "it cannot be opened");
  std::string many;
  for (int i = 0; i < 17; ++i) many.append(":").append(write(kTable));
  in_a_process([&] {
    setenv("RAILGAUGE_NCCL_TUNE", many.c_str(), 1);
    REQUIRE(Nccl(api).init() && warnings.size() == 1 && infos.size() == 16);
  });
}

void a_table_for_each_collective(int api) {
  in_a_process([&] {
    const std::string other = write(with("all_reduce", "broadcast"), "other.json");
    setenv("RAILGAUGE_NCCL_TUNE",
           (write("{", "bad.json") + ":" + other + ":" + write(kTable)).c_str(), 1);
    const Nccl nccl(api);
    void* context = nccl.init();
    REQUIRE(warnings.size() == 1 && infos.size() == 2);
    for (const int function : {kBroadcast, kAllReduce})
      REQUIRE(nccl.chosen(context, 64 * kMib, function) == zero_at(kTree, kSimple));
    REQUIRE(nccl.chosen(context, 64 * kMib, kReduce) == kUntouched);
  });
}

// Of the text cut at any byte, and with any bytes changed, nothing is read beyond its end.
void any_bytes_are_read_safely() {
  static Tuning tuning;
  for (std::size_t length = 0; length < kTable.size(); ++length)
    REQUIRE(tuning.load(write(kTable.substr(0, length)).c_str(), {true, 0}));
  REQUIRE(!tuning.load(write(kTable).c_str(), {true, 0}) && tuning.chosen() == 2);
  std::mt19937 random(1);
  for (int turn = 0; turn < 2000; ++turn) {
    std::string text = kTable;
    for (int i = 0; i < 3; ++i)
      text[random() % text.size()] =
          turn % 2 ? static_cast<char>(random()) : "{}[]\":,\\u0e"[random() % 11];
    tuning.load(write(text).c_str(), {true, random() % 64});
    tuning.at(random());
  }
}

void threads_choose_the_same(int api) {
  with_table(kTable, [&] {
    const Nccl nccl(api);
    std::vector<std::thread> threads;
    std::atomic<int> applied = 0;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        void* context = nccl.init(i % 2 ? 2 : 4);
        for (int turn = 0; turn < 1000; ++turn)
          applied += nccl.chosen(context, 64 * kMib) == zero_at(kTree, kSimple);
        nccl.finalize(context);
      });
    for (std::thread& one : threads) one.join();
    REQUIRE(applied == kThreads / 2 * 1000 && warnings.size() == 1 && infos.size() == kThreads / 2);
  });
}

void print_cost() {
  with_table(kTable, [] {
    const Nccl nccl(6);
    Question asked;
    for (void* context : {nccl.init(), nccl.init(4)}) {
      const double ns = least_ns([&](int i) { nccl.choose(context, i << 13, asked); });
      printf("%.0f ns a question %s, %.2f times a call that reads the clock\n", ns,
             context ? "with a table" : "without one", ns / clock_ns());
    }
    fflush(stdout);
  });
}

}  // namespace

int main(int count, char** arguments) {
  std::string made = std::filesystem::temp_directory_path() / "nccl-tuner-XXXXXX";
  REQUIRE(mkdtemp(made.data()));
  folder = made;
  unsetenv("NCCL_MIN_NCHANNELS");
  const bool is_cost = count > 1 && !strcmp(arguments[1], "--cost");
  if (is_cost) print_cost();
  for (int api = 2; api <= 6 && !is_cost; ++api) {
    what_is_faster_is_chosen(api);
    the_nearest_size_counts_half_the_way_to_the_next_of_sizes_that_double(api);
    what_nccl_cannot_use_stays_so(api);
    what_a_rank_has_registered_decides_nothing(api);
    more_channels_are_used_where_the_job_has_them(api);
    another_machine_or_release_is_refused(api);
    a_table_for_each_collective(api);
    threads_choose_the_same(api);
  }
  if (!is_cost) {
    garbage_is_refused(6);
    what_is_no_file_is_refused(6);
    sizes_have_a_bound();
    any_bytes_are_read_safely();
  }
  std::filesystem::remove_all(folder);
}
