// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <ctime>
#include <map>
#include <utility>

#include "tests/native/fibers.h"

namespace railgauge {

namespace cuda {

namespace {

// How long a kernel rests at first and at most, where all its threads wait and no kernel of this
// process tells them that something has changed: what other processes and the host write.
constexpr std::chrono::nanoseconds kRest = std::chrono::microseconds(20),
                                   kLongest = std::chrono::milliseconds(1);

// How often kernels of this process have told that they wrote what others may wait for.
class News {
 public:
  std::uint32_t told() const { return told_; }
  void tell() {
    ++told_;
    if (resting_) syscall(SYS_futex, &told_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }
  // Until they have told more often than is known.
  void rest(std::uint32_t known, std::chrono::nanoseconds at_most) {
    const timespec limit{0, at_most.count()};
    ++resting_;
    syscall(SYS_futex, &told_, FUTEX_WAIT_PRIVATE, known, &limit, nullptr, 0);
    --resting_;
  }

 private:
  std::atomic<std::uint32_t> told_{0};
  std::atomic<int> resting_{0};
} news;

std::map<std::pair<std::string, std::string>, Kernel>& kernels() {
  static std::map<std::pair<std::string, std::string>, Kernel> all;
  return all;
}

std::uint64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

}  // namespace

const Kernel* kernel(const std::string& module, const std::string& name) {
  const auto found = kernels().find({module, name});
  return found == kernels().end() ? nullptr : &found->second;
}

void run(const std::function<void()>& bound, unsigned blocks, unsigned threads) {
  bool written = false;
  for (unsigned block = 0; block < blocks; ++block) {
    gpu::Fibers fibers({0, now_ns});
    fibers.add(bound, block, blocks, threads);
    for (int idle = 0; !fibers.are_over();) {
      const std::uint32_t known = news.told();
      bool moved = false;
      for (std::size_t number = fibers.ready(); number-- > 0;) moved |= fibers.go_on(number);
      const bool wrote = fibers.have_written(), waited = fibers.have_waited();
      written |= wrote;
      if (moved || wrote) {
        idle = 0;
      } else if (waited && std::exchange(written, false)) {
        news.tell();
      } else if (waited) {
        news.rest(known, std::min(++idle * kRest, kLongest));
      }
    }
  }
  news.tell();
}

}  // namespace cuda

bool gpu::add_kernel(const char* module, const char* name, int threads, Bound kernel) {
  cuda::kernels()[{module, name}] = {name, static_cast<unsigned>(threads), std::move(kernel)};
  return true;
}

}  // namespace railgauge
