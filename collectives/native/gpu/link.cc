// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/link.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>

#include "collectives/native/gpu/fatbins.h"
#include "collectives/native/gpu/patterns.h"
#include "collectives/native/kernels/arguments.h"
#include "transports/native/cuda/gpu.h"
#include "transports/native/cuda/kernels.h"
#include "transports/native/cuda/mark.h"
#include "transports/native/cuda/memory.h"
#include "transports/native/cuda/timer.h"
#include "transports/native/cuda/waiting.h"

namespace railgauge::gpu {

namespace {

constexpr unsigned kLinkThreads = 512, kBlocksOfAProcessor = 2;
constexpr unsigned char kPoison = 0xa5;  // a byte with which no message is filled
// How much is put on a stream at a time: in between the host checks for an abort, and slow progress
// does not count as a timeout.
constexpr std::size_t kBytesAtOnce = std::size_t(16) << 30;
constexpr int kMessagesAtOnce = 256;

int at_once(std::size_t size, int times) {
  const std::size_t fit = std::max<std::size_t>(1, kBytesAtOnce / std::max<std::size_t>(1, size));
  return static_cast<int>(std::min<std::size_t>({fit, kMessagesAtOnce, std::size_t(times)}));
}

// A handed-over message: four bytes of data and a flag in each.
unsigned words_of(std::size_t size) { return static_cast<unsigned>((size + 3) / 4); }
std::size_t handed_bytes(std::size_t size) { return words_of(size) * sizeof(std::uint64_t); }

}  // namespace

// Lets the GPU of `from` access the memory of `to`.
class GpuLink::Access {
 public:
  Access(const Side& from, const Side& to);
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

 private:
  const cuda::Driver& cuda_ = cuda::Driver::get();
  cuda::Context from_, to_;
};

// One GPU's end.
struct GpuLink::Side {
  Side(int number, std::size_t room, double timeout_s);

  cuda::Context context() const { return source.context(); }
  cuda::Stream stream() const { return clock.stream(); }
  std::string name() const { return "GPU " + std::to_string(gpu); }
  // Each puts something on the stream.
  void launch(cuda::Function kernel, unsigned blocks, unsigned threads,
              std::initializer_list<const void*> parameters);
  void fill(cuda::Pointer data, unsigned char value, std::size_t size);
  void follow(Side& leader);  // what was put on the leader's stream so far
  // For kernels whose threads take so many bytes each.
  unsigned blocks(std::size_t size, std::size_t of_a_thread) const;

  const cuda::Driver& cuda = cuda::Driver::get();
  int gpu;
  cuda::Memory source, destination;
  Patterns patterns;
  cuda::Timer clock;
  unsigned processors;
  cuda::Kernels kernels;
  cuda::Function copy, hand_over;
  cuda::Mark reached;
};

GpuLink::Side::Side(int number, std::size_t room, double timeout_s)
    : gpu(number),
      source(number, room),
      destination(number, room),
      patterns(number, timeout_s),
      clock(source.context()),
      processors(cuda::Gpu(number).processors()),
      kernels(source.context(), copy_fatbin(), "of copies"),
      reached(source.context(), false) {
  const cuda::Current current(context());
  copy = kernels.function("copy");
  hand_over = kernels.function("hand_over");
}

void GpuLink::Side::launch(cuda::Function kernel, unsigned blocks, unsigned threads,
                           std::initializer_list<const void*> parameters) {
  const cuda::Current current(context());
  cuda.check(cuda.launch(kernel, blocks, 1, 1, threads, 1, 1, 0, stream(),
                         const_cast<void**>(parameters.begin()), nullptr),
             "starting a kernel on " + name());
}

void GpuLink::Side::fill(cuda::Pointer data, unsigned char value, std::size_t size) {
  const cuda::Current current(context());
  cuda.check(cuda.memory_set_later(data, value, size, stream()), "setting memory of " + name());
}

void GpuLink::Side::follow(Side& leader) {
  {
    const cuda::Current current(leader.context());
    leader.reached.set(leader.stream());
  }
  const cuda::Current current(context());
  cuda.check(cuda.stream_wait(stream(), leader.reached.event(), 0), "waiting for an event");
}

unsigned GpuLink::Side::blocks(std::size_t size, std::size_t of_a_thread) const {
  const std::size_t each = kLinkThreads * of_a_thread;
  return std::clamp<std::size_t>((size + each - 1) / each, 1, kBlocksOfAProcessor * processors);
}

GpuLink::Access::Access(const Side& from, const Side& to)
    : from_(from.context()), to_(to.context()) {
  const cuda::Current current(from_);
  cuda_.check(cuda_.enable_peer_access(to_, 0), "reaching " + to.name() + " from " + from.name());
}

GpuLink::Access::~Access() {
  if (cuda::hangs(to_)) return;
  if (const cuda::Closing gpu(from_); gpu) cuda_.disable_peer_access(to_);
}

GpuLink::GpuLink(int low, int high, std::size_t room, bool peers, double timeout_s)
    : timeout_s_(timeout_s) {
  if (low == high) throw Error(ErrorCode::kInvalid, "a link needs two different GPUs");
  low_ = std::make_unique<Side>(low, room, timeout_s);
  high_ = std::make_unique<Side>(high, room, timeout_s);
  if (peers) {
    out_ = std::make_unique<Access>(*low_, *high_);
    back_ = std::make_unique<Access>(*high_, *low_);
  }
  status_ = std::make_unique<cuda::Pinned>(low_->context(), sizeof(Status));
  *status() = {};
}

GpuLink::~GpuLink() = default;

double GpuLink::seconds(CopyMethod method, Flow flow, std::size_t size, int times) {
  const bool hands_over = method != CopyMethod::kCopyEngine && flow == Flow::kThereAndBack;
  if (method != CopyMethod::kCopyEngine && !out_)
    throw Error(ErrorCode::kInvalid,
                "kernels cannot copy between GPUs without access to each other's memory");
  check_room(hands_over ? handed_bytes(size) : size);
  if (hands_over) begin_hand_over(method, size);
  time(method, flow, size, 1);
  double total = 0;
  for (int left = times; left > 0;) {
    const int now = at_once(size, left);
    total += time(method, flow, size, now);
    left -= now;
  }
  return total / times;
}

std::array<Verdict, 2> GpuLink::check(CopyMethod method, std::size_t size, std::uint64_t seed) {
  check_room(size);
  const DataPattern pattern{2, Dtype::kUint8, Redop::kSum, seed, PatternKind::kRandom};
  const std::array<Side*, 2> sides{low_.get(), high_.get()};
  for (int i = 0; i < 2; ++i) {
    sides[i]->fill(sides[i]->destination.pointer(), kPoison, size);
    sides[i]->patterns.fill(pattern, i, sides[i]->source.pointer(), size);
  }
  wait();
  time(method, Flow::kBoth, size, 1);
  std::array<Verdict, 2> found;
  for (int i = 0; i < 2; ++i) {
    const cuda::Pointer got = sides[i]->destination.pointer();
    found[i] = sides[i]->patterns.check_copied(pattern, 1 - i, got, size);
  }
  return found;
}

Status* GpuLink::status() const { return static_cast<Status*>(status_->data()); }

void GpuLink::abort() { static_cast<volatile Status*>(status())->abort = 1; }

// Loads are done by the receiving GPU.
GpuLink::Side& GpuLink::driver_of(CopyMethod method, Side& from, Side& to) {
  return method == CopyMethod::kLoads ? to : from;
}

// Seconds of so many messages in a row.
double GpuLink::time(CopyMethod method, Flow flow, std::size_t size, int times) {
  Side& leader =
      flow == Flow::kBack ? driver_of(method, *high_, *low_) : driver_of(method, *low_, *high_);
  double seconds = 0;
  run([&] {
    const auto messages = [&](cuda::Stream) { put(method, flow, size, times); };
    seconds = leader.clock.time(messages, 0, 1, 0, timeout_s_ + cuda::kPatience);
  });
  return seconds;
}

// On the stream of the GPU that copies; if both do, the first one's stream waits for the other's.
void GpuLink::put(CopyMethod method, Flow flow, std::size_t size, int times) {
  Side &low = *low_, &high = *high_;
  Side &leader = driver_of(method, low, high), &other = driver_of(method, high, low);
  const bool hands_over = method != CopyMethod::kCopyEngine && flow == Flow::kThereAndBack;
  const bool both = flow == Flow::kBoth || hands_over;
  if (both) other.follow(leader);
  if (hands_over) {
    put_hand_over(method, low, high, size, times);
    put_hand_over(method, high, low, size, times);
    turn_ += times;
  } else {
    for (int i = 0; i < times; ++i) {
      if (flow != Flow::kBack) put_copy(method, leader, low, high, size);
      if (flow == Flow::kThereAndBack) put_copy(method, leader, high, low, size);
      if (flow == Flow::kBack || flow == Flow::kBoth) put_copy(method, other, high, low, size);
    }
  }
  if (both) leader.follow(other);
}

void GpuLink::put_copy(CopyMethod method, Side& by, Side& from, Side& to, std::size_t size) {
  const cuda::Pointer source = from.source.pointer(), target = to.destination.pointer();
  if (method != CopyMethod::kCopyEngine) {
    constexpr std::size_t kOfAThread = 4 * 16;  // copy.cu
    by.launch(by.copy, by.blocks(size, kOfAThread), kLinkThreads, {&target, &source, &size});
    return;
  }
  const cuda::Current current(by.context());
  cuda_.check(
      cuda_.memory_copy_peer(target, to.context(), source, from.context(), size, by.stream()),
      "copying from " + from.name() + " to " + to.name());
}

// Stores go to the peer, which polls its own memory; loads poll the peer's.
void GpuLink::put_hand_over(CopyMethod method, Side& side, Side& peer, std::size_t size,
                            unsigned turns) {
  const bool stores = method == CopyMethod::kStores;
  const cuda::Pointer out = (stores ? peer.destination : side.source).pointer();
  const cuda::Pointer in = (stores ? side.destination : peer.source).pointer();
  const unsigned words = words_of(size);
  const unsigned threads = std::min(kLinkThreads, (words + 31) / 32 * 32);
  const int asks = &side == low_.get(), number = peer.gpu;
  Base base{};
  base.status = status();
  base.timeout_ns = static_cast<std::uint64_t>(timeout_s_ * 1e9);
  side.launch(side.hand_over, 1, threads,
              {&out, &in, &words, &turn_, &turns, &asks, &number, &base});
}

// So that no old message counts as a new one. A first launch may wait for the GPU to load the
// kernel, and so for a kernel that waits for it: here without a message to wait for.
void GpuLink::begin_hand_over(CopyMethod method, std::size_t size) {
  turn_ = 0;
  for (auto [side, peer] : {std::pair(low_.get(), high_.get()), {high_.get(), low_.get()}}) {
    side->fill(side->source.pointer(), 0, handed_bytes(size));
    side->fill(side->destination.pointer(), 0, handed_bytes(size));
    put_hand_over(method, *side, *peer, size, 0);
  }
  wait();
}

void GpuLink::wait() {
  run([&] {
    for (Side* side : {low_.get(), high_.get()}) side->clock.wait(timeout_s_ + cuda::kPatience);
  });
}

// Waits for the GPUs. One may have reported the other while both still hang.
void GpuLink::run(const std::function<void()>& work) {
  const volatile Status* status = this->status();
  if (status->abort) throw Error(ErrorCode::kAborted, "the measurement was ended");
  std::string problem;
  try {
    work();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kTimeout) throw;
    problem = low_->name() + " and " + high_->name() + ": " + error.what();
  }
  if (const std::uint32_t failed = status->failed) {
    problem = "GPU " + std::to_string(failed - 1) + " did not answer within " +
              std::to_string(timeout_s_) + " s";
  }
  if (!problem.empty()) throw Error(ErrorCode::kTimeout, problem);
}

void GpuLink::check_room(std::size_t bytes) const {
  if (bytes > low_->source.size())
    throw Error(ErrorCode::kInvalid, "a message is longer than its buffer");
}

}  // namespace railgauge::gpu
