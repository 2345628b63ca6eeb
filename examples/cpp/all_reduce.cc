// SPDX-License-Identifier: Apache-2.0
// Sums an array over processes and prints the bus bandwidth. The ranks meet in a folder:
//
//   all_reduce 4                              four ranks on this host
//   all_reduce 4 RANK /shared/new 10.0.0.2    one of four, on the host with that IP address
#include <railgauge/communicator.h>
#include <railgauge/error.h>
#include <railgauge/rendezvous.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// A file for each rank and exchange, in a folder that is empty at first.
class Folder : public railgauge::Rendezvous {
 public:
  Folder(fs::path path, int rank, int ranks) : path_(path), rank_(rank), ranks_(ranks) {}

  std::vector<std::string> all_gather(const std::string& own) override {
    const std::string prefix = std::to_string(exchanges_++) + ".";
    const fs::path place = path_ / (prefix + std::to_string(rank_)), made = place.string() + ".new";
    std::ofstream(made, std::ios::binary) << own;
    fs::rename(made, place);  // the others see all of it or nothing
    std::vector<std::string> all;
    const auto until = Clock::now() + std::chrono::seconds(60);
    for (int rank = 0; rank < ranks_; ++rank) {
      const fs::path theirs = path_ / (prefix + std::to_string(rank));
      while (!fs::exists(theirs)) {
        if (Clock::now() > until) throw std::runtime_error("no file " + theirs.string());
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      std::ifstream file(theirs, std::ios::binary);
      all.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return all;
  }

 private:
  fs::path path_;
  int rank_, ranks_, exchanges_ = 0;
};

// Whether all sums were right.
bool run(int rank, int ranks, const fs::path& folder, const std::string& address) {
  Folder meeting(folder, rank, ranks);
  railgauge::Communicator::Options options;
  options.address = address;
  railgauge::Communicator comm(meeting, rank, ranks, options);
  bool right = true;
  for (std::size_t bytes = 1024; bytes <= 16 << 20; bytes *= 16) {
    const std::size_t count = bytes / sizeof(float);
    std::vector<float> source(count, static_cast<float>(rank + 1)), sum(count);
    constexpr int kTimes = 10;
    comm.barrier();
    const auto began = Clock::now();
    for (int i = 0; i < kTimes; ++i) {
      comm.all_reduce(source.data(), sum.data(), count, railgauge::Dtype::kFloat32);
    }
    const double us =
        std::chrono::duration<double, std::micro>(Clock::now() - began).count() / kTimes;
    const auto expected = static_cast<float>(ranks * (ranks + 1) / 2);
    for (float one : sum) right = right && one == expected;
    const double busbw = static_cast<double>(bytes) / us / 1e3 * 2 * (ranks - 1) / ranks;
    if (rank == 0) {
      std::printf("%10zu bytes %10.1f us  busbw %6.2f GB/s  %s\n", bytes, us, busbw,
                  right ? "right" : "WRONG");
      std::fflush(stdout);
    }
  }
  return right;
}

int main(int argc, char** argv) try {
  if (argc != 2 && argc != 4 && argc != 5) {
    std::fprintf(stderr, "usage: all_reduce RANKS [RANK FOLDER [ADDRESS]]\n");
    return 2;
  }
  const int ranks = std::atoi(argv[1]);
  if (argc > 2) return run(std::atoi(argv[2]), ranks, argv[3], argc > 4 ? argv[4] : "") ? 0 : 1;

  std::string name = fs::temp_directory_path() / "railgauge.XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make the folder " + name);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string number = std::to_string(rank);
    if (fork() == 0) execl(argv[0], argv[0], argv[1], number.c_str(), name.c_str(), nullptr);
  }
  int failed = 0;
  for (int status; wait(&status) > 0;) failed += status != 0;
  fs::remove_all(name);
  return failed ? 1 : 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "all_reduce: %s\n", error.what());
  return 1;
}
