// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/waiting.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "transports/native/clock.h"
#include "transports/native/cuda/mark.h"

namespace railgauge::cuda {

namespace {

constexpr Clock::duration kSpin = std::chrono::microseconds(200);
// A nap is a small part of the wait so far, so that it costs little when the GPU is done in it.
constexpr Clock::duration kLeastNap = std::chrono::microseconds(50),
                          kMostNap = std::chrono::milliseconds(1);
constexpr int kNapsOfAWait = 32;

std::mutex mutex;  // of what follows
// By GPU that did not finish in time, an event after all its work; null: unknown.
std::map<Context, Event>& late() {
  static auto* all = new std::map<Context, Event>;  // destructors run after main()
  return *all;
}

bool is_late(const std::pair<const Context, Event>& one) {
  return !one.second || Driver::get().event_query(one.second) == kNotReady;
}

void note_late(Context context) {
  const Driver& cuda = Driver::get();
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = late().try_emplace(context, nullptr);
  if (!is_new && is_late(*found)) return;
  if (!cuda.context_event) return;
  if (!found->second && cuda.event_create(&found->second, kUntimed)) return;
  if (!cuda.context_event(context, found->second)) return;
  cuda.event_destroy(found->second);
  found->second = nullptr;
}

template <class Query>
void poll(Context context, const Query& query, double timeout_s, const std::string& what) {
  const auto began = Clock::now();
  const auto until = began + std::chrono::duration<double>(timeout_s);
  while (true) {
    const Result result = query();
    if (result != kNotReady) return Driver::get().check(result, what);
    const auto now = Clock::now();
    if (now > until) {
      note_late(context);
      std::ostringstream problem;
      problem << what << ": a GPU did not finish within " << timeout_s
              << " s (nvidia-smi shows what runs on it)";
      throw Error(ErrorCode::kTimeout, problem.str());
    }
    if (now > began + kSpin)
      std::this_thread::sleep_for(std::clamp((now - began) / kNapsOfAWait, kLeastNap, kMostNap));
  }
}

}  // namespace

bool hangs(Context context) noexcept {
  const std::lock_guard lock(mutex);
  const auto found = late().find(context);
  return found != late().end() && is_late(*found);
}

bool any_hangs() noexcept {
  const std::lock_guard lock(mutex);
  return std::ranges::any_of(late(), is_late);
}

void await(Context context, Event event, double timeout_s, const std::string& what) {
  poll(context, [&] { return Driver::get().event_query(event); }, timeout_s, what);
}

void await(Context context, Stream stream, double timeout_s, const std::string& what) {
  poll(context, [&] { return Driver::get().stream_query(stream); }, timeout_s, what);
}

void await_idle(Context context, double timeout_s) noexcept {
  const Driver& cuda = Driver::get();
  const Closing gpu(context);
  if (!gpu) return;
  try {
    const Mark all(context, false);
    cuda.check(cuda.context_event ? cuda.context_event(context, all.event())
                                  : cuda.event_record(all.event(), nullptr),
               "recording an event");
    all.await(timeout_s);
  } catch (const Error&) {  // errors of a GPU that is given up no longer matter
  }
}

Closing::Closing(Context context) noexcept
    : entered_(!hangs(context) && !Driver::get().context_push(context)) {}

Closing::~Closing() {
  Context popped;
  if (entered_) Driver::get().context_pop(&popped);
}

}  // namespace railgauge::cuda
