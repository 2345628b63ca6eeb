// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "tests/native/fibers.h"

namespace railgauge {

namespace cuda {

namespace {

// How long the CPU rests at first and at most, while all threads of a kernel wait.
constexpr std::chrono::microseconds kRest{20}, kLongest{200};

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
  for (unsigned block = 0; block < blocks; ++block) {
    gpu::Fibers fibers({0, now_ns});
    fibers.add(bound, block, blocks, threads);
    for (int idle = 0; !fibers.are_over();) {
      bool moved = false;
      for (std::size_t number = fibers.ready(); number-- > 0;) moved |= fibers.go_on(number);
      idle = moved ? 0 : idle + 1;
      if (idle) std::this_thread::sleep_for(std::min(idle * kRest, kLongest));
    }
  }
}

}  // namespace cuda

bool gpu::add_kernel(const char* module, const char* name, int threads, Bound kernel) {
  cuda::kernels()[{module, name}] = {name, static_cast<unsigned>(threads), std::move(kernel)};
  return true;
}

}  // namespace railgauge
