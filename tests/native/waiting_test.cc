// SPDX-License-Identifier: Apache-2.0
// A rank that waits sleeps at once where other programs took its core meanwhile.
#include "transports/native/waiting.h"

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "tests/native/require.h"

namespace railgauge {
namespace {

using namespace std::chrono_literals;

constexpr auto kAwayFor = 2ms;  // as when another program has the core
constexpr auto kTimeout = 5s;   // it polls for so long otherwise, and fails
constexpr int kAwayAt = 1000;   // polls, after the clock was read

long sleeps() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

void a_rank_whose_core_was_taken_soon_sleeps() {
  Waiting waiting(Doorbell::create(), {kTimeout, kTimeout});
  int polls = 0;
  long before = 0;
  waiting.until(
      [&] {
        if (++polls == kAwayAt) {
          std::this_thread::sleep_for(kAwayFor);
          before = sleeps();
        }
        return polls > kAwayAt && sleeps() > before;
      },
      [] { return BlockedOn{1}; }, [] { return std::string("it only polls"); });
}

}  // namespace
}  // namespace railgauge

int main() {
  railgauge::a_rank_whose_core_was_taken_soon_sleeps();
  std::puts("all passed");
}
