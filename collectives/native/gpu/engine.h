// SPDX-License-Identifier: Apache-2.0
// Collectives between GPUs, one rank's end: its staging buffers and the peers', the channels of the
// plan, and the kernels that run an operation on a stream of the caller.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/native/gpu/channels.h"
#include "collectives/native/gpu/choice.h"
#include "collectives/native/gpu/kernel_table.h"
#include "collectives/native/gpu/message_batches.h"
#include "collectives/native/gpu/proxy.h"
#include "collectives/native/gpu/registered_memory.h"
#include "collectives/native/gpu/rounds.h"
#include "collectives/native/gpu/staging_buffers.h"
#include "collectives/native/gpu/traffic.h"
#include "collectives/native/kernels/arguments.h"
#include "collectives/native/operation.h"
#include "transports/native/cuda/gpu.h"
#include "transports/native/cuda/memory.h"
#include "transports/native/cuda/pinned.h"
#include "transports/native/cuda/side_stream.h"
#include "transports/native/cuda/timer.h"
#include "transports/native/cuda/turns.h"

namespace railgauge::gpu {

class Engine {
 public:
  // `device` by CUDA's number; `via` says how each rank is reached. Error (kSystem): no driver, no
  // such device, not enough memory. `numbers`: by rank, its number in errors; without them its own.
  // `handle_types`: of such memory are its staging buffers (cuda/exportable.h). `nvls`: with the
  // kernels of Way::kNvls.
  Engine(int device, int rank, const Layout& layout, const std::vector<Via>& via, double timeout_s,
         std::vector<int> numbers = {}, int handle_types = 0, bool nvls = false);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // What each rank needs to write into its staging buffer here, by rank.
  std::vector<Lent> lend() { return buffers_.lend(); }
  // How many multiprocessors the GPU has.
  int processors() const { return processors_; }
  // Opens the staging buffers of all ranks, from what each exported to this one; by rank the
  // multiprocessors of its GPU, whose minimum bounds the blocks of every kernel: blocks of one
  // number exchange data. Error (kSystem): one cannot be reached.
  void connect(const std::vector<Lent>& lent, const std::vector<int>& processors);
  StagingBuffers& buffers() { return buffers_; }
  // The connections on which a proxy moves the staging buffers of a rank on another node, once
  // their slots are placed.
  void carry(int proxy, int rank, std::vector<std::shared_ptr<Sender>> to,
             std::vector<std::shared_ptr<Receiver>> from, std::shared_ptr<gdr::Flush> flush);
  // After connect(), and carry() for all of them: starts the proxies, each with its doorbell.
  void start(const std::vector<std::shared_ptr<Doorbell>>& doorbells);
  // Stops the proxies; after the last operation of all ranks.
  void stop() { proxies_.clear(); }
  // The channels of rings and trees.
  void channels(const std::vector<PlannedChannel>& planned);

  int ranks() const { return buffers_.ranks(); }
  int rank() const { return rank_; }
  int device() const { return device_; }
  GpuRegisteredMemory& registered_memory() { return registered_memory_; }
  // Put an operation on a stream, after the previous one on any stream; arrays are in this device's
  // memory. All ranks in one order.
  void run(const Operation& operation, cuda::Stream stream, const Choice& choice);
  // The same on another stream, after all work on `stream` so far; a mark behind it, which may be
  // captured with the stream into a graph.
  std::unique_ptr<cuda::Mark> run_aside(const Operation& operation, cuda::Stream stream,
                                        cuda::Stream aside, const Choice& choice);
  // All-to-all with parts of any length, one after another: by rank how many elements go to it and
  // come from it.
  void run_parts(const std::byte* source, const std::vector<std::size_t>& to,
                 std::byte* destination, const std::vector<std::size_t>& from, Dtype dtype,
                 cuda::Stream stream);
  // A reduction of elements that are multiplied first, by a factor of this rank's own.
  void run_scaled(const Operation& operation, double factor, cuda::Stream stream);
  // Put sends and receives on a stream, all at once. The messages of one rank to another arrive in
  // their order, and each goes to the first receive there with its tag, which has its length.
  void run_messages(const std::vector<GpuMessage>& messages, cuda::Stream stream);
  // Run an operation on a stream of its own, as Timer::time does; the seconds one took.
  double repeat(const Operation& operation, const Choice& choice, int ahead, int times,
                int replays);
  Choices& choices() { return choices_; }
  const Choices& choices() const { return choices_; }
  // Replays of a caller's graph are not counted.
  const std::vector<Traffic>& traffic() const { return traffic_.by_rank(); }
  // Throws PeerLost if a kernel has waited too long, or a connection has ended; Error (kAborted)
  // after abort().
  void check() const;
  // Ends all waiting kernels.
  void abort();
  // Waits until all work on a stream is done. Error (kTimeout): not within the timeout.
  void synchronize(cuda::Stream stream) const;
  // A mark after all work on a stream so far; null if the stream is captured into a graph.
  std::unique_ptr<cuda::Mark> mark(cuda::Stream stream) const;
  // Waits for a mark. Error (kTimeout): not within the timeout.
  void await(const cuda::Mark& mark) const;

 private:
  // The launch parameters of a kernel.
  struct Started {
    Way way;
    unsigned blocks, threads;
    std::uint32_t chunk_bytes;
  };

  Status* status() const { return static_cast<Status*>(status_.data()); }
  Base base(std::uint32_t chunk_bytes) const;
  Started push(std::size_t bytes, const Choice& choice) const;
  // Put kernels on a stream, as one operation among the others.
  template <class Put>
  void in_turn(cuda::Stream stream, const Put& put);
  // A rank's number in errors, and those words.
  int number(int rank) const;
  std::string named(int rank) const;
  void put(const Operation& asked, cuda::Stream stream, const Choice& choice);
  void count(const Operation& asked, const Choice& choice, std::uint64_t times);
  void run_exchange(const Operation& operation, cuda::Stream stream, const Choice& choice);
  void run_channels(const Operation& operation, cuda::Stream stream, const Choice& choice);
  // On registered memory (gpu/registered.cc).
  RegisteredArguments registered_arguments(const Operation& operation) const;
  void run_registered(const Operation& operation, cuda::Stream stream, const Choice& choice);
  void run_copies(const Operation& operation, cuda::Stream stream);
  void run_nvls(const Operation& operation, cuda::Stream stream, const Choice& choice);
  // Blocks of a kernel on arrays, of which the longest transfer has so many bytes.
  unsigned blocks_for(std::size_t bytes, const Choice& choice) const;
  void run_rounds(const Operation& operation, const Pairs& pairs, const Started& how,
                  cuda::Stream stream);
  // `members`: the ranks that the exchange counts.
  void launch_exchange(const Operation& operation, const Started& how, const Exchange& exchange,
                       const std::vector<int>& members, cuda::Stream stream);
  void launch_messages(const MessageBatch& batch, cuda::Stream stream);
  void launch(const Operation& operation, Way way, unsigned blocks, unsigned threads,
              cuda::Stream stream, void* arguments);
  void launch(cuda::Function kernel, unsigned blocks, unsigned threads, cuda::Stream stream,
              void** parameters, const char* what);

  const cuda::Driver& cuda_ = cuda::Driver::get();
  const int device_, rank_;
  const std::vector<int> numbers_;
  const Layout layout_;
  const double timeout_s_;
  const cuda::Gpu gpu_;
  const int processors_;
  int least_processors_;  // of all ranks' GPUs
  const bool overlaps_;   // a kernel may be prepared while the previous one runs
  const std::shared_ptr<const KernelTable> kernels_;
  cuda::Memory memory_;  // the kernels' own: a KernelState
  cuda::Pinned status_;  // a Status
  cuda::Timer clock_;
  cuda::Turns turns_;
  cuda::Mark before_aside_;
  // Once there are copies: put eagerly, and while a graph is captured.
  std::optional<cuda::SideStream> copying_, copying_captured_;
  PeerMemory peers_;
  StagingBuffers buffers_;
  GpuRegisteredMemory registered_memory_;
  std::optional<cuda::Memory> scaled_;  // once there is a reduction of such elements
  std::optional<Channels> channels_;
  Choices choices_;
  TrafficCount traffic_;
  std::vector<std::vector<Route>> routes_;          // by proxy
  std::vector<std::unique_ptr<GpuProxy>> proxies_;  // destroyed first: they use all the others
};

template <class Put>
void Engine::in_turn(cuda::Stream stream, const Put& put) {
  check();
  const cuda::Current current(gpu_.context());
  turns_.begin(stream);
  put();
  turns_.end(stream);
}

}  // namespace railgauge::gpu
