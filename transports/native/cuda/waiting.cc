// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/waiting.h"

#include <atomic>
#include <chrono>
#include <sstream>
#include <thread>

#include "transports/native/cuda/mark.h"

namespace railgauge::cuda {

namespace {

constexpr Result kNotReady = 600;  // CUDA_ERROR_NOT_READY
constexpr auto kSpin = std::chrono::microseconds(200), kNap = std::chrono::microseconds(50);

std::atomic<bool> hung{false};

template <class Query>
void poll(const Query& query, double timeout_s, const std::string& what) {
  const auto began = std::chrono::steady_clock::now();
  const auto until = began + std::chrono::duration<double>(timeout_s);
  while (true) {
    const Result result = query();
    if (result != kNotReady) return Driver::get().check(result, what);
    const auto now = std::chrono::steady_clock::now();
    if (now > until) {
      hung = true;
      std::ostringstream problem;
      problem << what << ": a GPU was not done within " << timeout_s
              << " s (nvidia-smi shows what runs on it)";
      throw Error(ErrorCode::kTimeout, problem.str());
    }
    if (now > began + kSpin) std::this_thread::sleep_for(kNap);
  }
}

}  // namespace

bool hangs() { return hung; }

void await(Event event, double timeout_s, const std::string& what) {
  poll([&] { return Driver::get().event_query(event); }, timeout_s, what);
}

void await(Stream stream, double timeout_s, const std::string& what) {
  poll([&] { return Driver::get().stream_query(stream); }, timeout_s, what);
}

void await_idle(Context context, double timeout_s) noexcept {
  const Driver& cuda = Driver::get();
  if (hangs()) return;
  try {
    const Mark all(context, false);
    const Current current(context);
    cuda.check(cuda.context_event ? cuda.context_event(context, all.event())
                                  : cuda.event_record(all.event(), nullptr),
               "recording an event");
    all.await(timeout_s);
  } catch (const Error&) {  // what is wrong with a GPU that is left no longer matters
  }
}

}  // namespace railgauge::cuda
