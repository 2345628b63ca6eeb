// SPDX-License-Identifier: Apache-2.0
// Collectives between GPUs, one rank's end: its boxes and the peers', the channels of the plan, and
// the kernels that run an operation on a stream of the caller.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/native/gpu/boxes.h"
#include "collectives/native/gpu/courier.h"
#include "collectives/native/gpu/windows.h"
#include "collectives/native/kernels/arguments.h"
#include "collectives/native/operation.h"
#include "transports/native/cuda/clock.h"
#include "transports/native/cuda/driver.h"

namespace railgauge::gpu {

// The numbers are part of the Python binding (collectives/gpu_way.py).
enum class Way : int { kLowLatency, kPush, kFullLines, kRing, kTree, kRegistered, kCopies };
inline constexpr int kWays = 7;

// A way, and what its kernel is started with; 0: as fits. All ranks take the same.
struct Choice {
  Way way;
  unsigned blocks = 0;
  std::uint32_t chunk_bytes = 0;
};

// A choice for operations of up to so many bytes: NCCL's count times the element's.
struct ChoiceUpTo {
  std::size_t bytes;
  Choice choice;
};

// Bytes between this rank and another, as operations were put on streams.
struct Traffic {
  std::uint64_t sent = 0, received = 0;
};

// A channel of the plan: the ring's ranks in order, and by rank its parent in the tree (-1: root).
struct PlannedChannel {
  std::vector<int> ring, parents;
};

class Engine {
 public:
  // `device` by CUDA's number; `via` says how each rank is reached. Error (kSystem): no driver, no
  // such device, not enough memory.
  Engine(int device, int rank, const Layout& layout, const std::vector<Via>& via, double timeout_s);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Lent lent(int rank) const { return boxes_->lent(rank); }
  // Reach the boxes of all ranks, from what each lent this one. Error (kSystem): one cannot be
  // reached.
  void connect(const std::vector<Lent>& lent);
  // What carries a lane of the boxes of a rank on another node.
  void carry(int lane, int rank, std::vector<std::shared_ptr<Sender>> to,
             std::vector<std::shared_ptr<Receiver>> from);
  // After connect(), and carry() for all of them: a courier sets out for each lane, with its
  // doorbell.
  void start(const std::vector<std::shared_ptr<Doorbell>>& doorbells);
  // Registered memory; null where not all GPUs map each other's.
  Windows* windows() { return windows_ ? &*windows_ : nullptr; }
  // The channels that rings and trees run on.
  void channels(const std::vector<PlannedChannel>& planned);

  // Put an operation on a stream; arrays are in this device's memory. All ranks in one order.
  void run(const Operation& operation, cuda::Stream stream, const Choice& choice);
  // All-to-all with parts of any length, one after another: by rank how many elements go to it and
  // come from it.
  void run_parts(const std::byte* source, const std::vector<std::size_t>& to,
                 std::byte* destination, const std::vector<std::size_t>& from, Dtype dtype,
                 cuda::Stream stream);
  // Run an operation on a stream of its own, as Clock::time does; the seconds one took.
  double repeat(const Operation& operation, const Choice& choice, int ahead, int times,
                int replays);
  // Let these be due, by growing length, and above the last what is without any.
  void choose(Collective collective, std::vector<ChoiceUpTo> choices);
  // Which way is due. Error (kInvalid): there is none between so many ranks.
  Choice choice(const Operation& operation) const;
  // Whether a way can run it.
  bool can(const Operation& operation, Way way) const;
  // By rank; replays of a caller's graph do not show.
  const std::vector<Traffic>& traffic() const { return traffic_; }
  // PeerLost where a kernel has waited too long, or a connection has ended; Error (kAborted) after
  // abort().
  void check() const;
  // Let all kernels leave that wait.
  void abort() { status_->abort = 1; }
  // Until all that is on a stream is done.
  void synchronize(cuda::Stream stream) const;

  int ranks() const { return static_cast<int>(via_.size()); }

 private:
  Base base(std::uint32_t chunk_bytes) const;
  void put(const Operation& asked, cuda::Stream stream, const Choice& choice);
  void count(const Operation& asked, const Choice& choice, std::uint64_t times);
  void count_channels(const Operation& operation, std::uint64_t times);
  void run_exchange(const Operation& operation, cuda::Stream stream, const Choice& choice);
  void run_channels(const Operation& operation, cuda::Stream stream, const Choice& choice);
  // In gpu/registered.cc.
  bool on_registered_memory(const Operation& operation) const;
  bool can_copy(const Operation& operation) const;
  RegisteredArguments registered_arguments(const Operation& operation) const;
  void run_registered(const Operation& operation, cuda::Stream stream, const Choice& choice);
  void run_copies(const Operation& operation, cuda::Stream stream);
  // Whether it goes in two steps, with a choice.
  bool in_steps(const Operation& operation, const Choice& choice) const;
  void launch_exchange(const Operation& operation, Way way, unsigned blocks, unsigned threads,
                       std::uint32_t chunk_bytes, const Exchange& exchange, cuda::Stream stream);
  void launch(const Operation& operation, Way way, unsigned blocks, unsigned threads,
              cuda::Stream stream, void* arguments);
  cuda::Function function(const Operation& operation, Way way);

  const cuda::Driver& cuda_ = cuda::Driver::get();
  const int rank_;
  const Layout layout_;
  const std::vector<Via> via_;
  const double timeout_s_;
  bool has_net_ = false, all_in_gpus_ = true;
  cuda::Device device_ = 0;
  cuda::Context context_ = nullptr;
  int processors_ = 0;
  bool overlaps_ = false;  // a kernel may be got ready while the one before runs
  Status* status_ = nullptr;
  cuda::Pointer memory_ = 0;  // the kernels' own: Memory, channels and their orders
  std::optional<cuda::Clock> clock_;
  std::optional<PeerMemory> peers_;
  std::optional<Boxes> boxes_;
  std::optional<Windows> windows_;
  std::vector<std::vector<Route>> routes_;  // by lane
  std::vector<std::unique_ptr<Courier>> couriers_;
  int n_channels_ = 0;
  cuda::Pointer channels_ = 0;
  std::vector<PlannedChannel> planned_;
  std::vector<Traffic> traffic_;
  std::array<cuda::Module, kDtypes> modules_{};
  std::array<std::vector<ChoiceUpTo>, kCollectives> chosen_{};
};

}  // namespace railgauge::gpu
