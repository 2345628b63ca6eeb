// SPDX-License-Identifier: Apache-2.0
// What the kernels of collectives/native/kernels/copy.cu do.
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "collectives/native/kernels/arguments.h"
#include "kernels.h"

namespace railgauge::cuda {

namespace {

using gpu::Base;
using Clock = std::chrono::steady_clock;

// Until a message of that turn is there; false where the wait was ended.
bool await(std::uint64_t& word, unsigned turn, int peer, const Base& base) {
  const auto until = Clock::now() + std::chrono::nanoseconds(base.timeout_ns);
  volatile gpu::Status* status = base.status;
  while (static_cast<unsigned>(std::atomic_ref(word).load()) != turn) {
    if (status->abort || status->failed) return false;
    if (Clock::now() > until) {
      status->failed = 1 + peer;
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

std::function<void()> hand_over(void** parameters) {
  auto* out = parameter<std::uint64_t*>(parameters, 0);
  auto* in = parameter<std::uint64_t*>(parameters, 1);
  const auto words = parameter<unsigned>(parameters, 2),
             before = parameter<unsigned>(parameters, 3),
             turns = parameter<unsigned>(parameters, 4);
  const int asks = parameter<int>(parameters, 5), peer = parameter<int>(parameters, 6);
  const Base base = parameter<Base>(parameters, 7);
  return [=] {
    const auto give = [&](unsigned turn) {
      for (unsigned i = 0; i < words; ++i) std::atomic_ref(out[i]).store(turn);
    };
    for (unsigned turn = before + 1; turn <= before + turns; ++turn) {
      if (asks) give(turn);
      for (unsigned i = 0; i < words; ++i) {
        if (!await(in[i], turn, peer, base)) return;
      }
      if (!asks) give(turn);
    }
  };
}

std::function<void()> copy(void** parameters) {
  auto* to = parameter<char*>(parameters, 0);
  const auto* from = parameter<const char*>(parameters, 1);
  const auto size = parameter<std::size_t>(parameters, 2);
  return [=] { std::memcpy(to, from, size); };
}

const bool added = [] {
  const auto add = [](const char* name, std::function<void()> (*kernel)(void**)) {
    add_kernel(name,
               [kernel](std::optional<Dtype>, void** parameters) { return kernel(parameters); });
  };
  add("copy", copy);
  add("hand_over", hand_over);
  return true;
}();

}  // namespace

}  // namespace railgauge::cuda
