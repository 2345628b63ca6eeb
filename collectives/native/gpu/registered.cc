// SPDX-License-Identifier: Apache-2.0
// The engine's operations on registered memory: by a kernel, by the copy engine, or by NVSwitches.
#include <algorithm>

#include "collectives/native/gpu/engine.h"
#include "collectives/native/gpu/exchange.h"

namespace railgauge::gpu {

namespace {

constexpr unsigned kRegisteredThreads = 512;
constexpr std::size_t kBytesOfABlock = 16 << 10;

}  // namespace

RegisteredArguments Engine::registered_arguments(const Operation& o) const {
  RegisteredArguments a{};
  a.base = base(0);
  a.rank = rank_;
  a.ranks = ranks();
  for (int rank = 0; rank < ranks(); ++rank) {
    a.in[rank] = buffers_.in(rank).words;
    a.out[rank] = buffers_.out(rank).words;
  }
  a.registrations = registered_memory_.on_gpu();
  // A rank without such an array is not checked.
  if (o.source) a.source = *registered_memory_.source(o);
  if (o.destination) a.destination = *registered_memory_.destination(o);
  return a;
}

void Engine::run_registered(const Operation& operation, cuda::Stream stream, const Choice& choice) {
  if (!registered_memory_.have(operation))
    throw Error(ErrorCode::kInvalid, "these arrays are not registered memory");
  RegisteredArguments arguments = registered_arguments(operation);
  on_registered(operation, rank_, ranks(), arguments);
  const std::size_t bytes = longest(operation, ranks(), operation.reduces());
  launch(operation, Way::kRegistered, blocks_for(bytes, choice), kRegisteredThreads, stream,
         &arguments);
}

unsigned Engine::blocks_for(std::size_t bytes, const Choice& choice) const {
  const unsigned most = std::min<unsigned>(layout_.blocks, least_processors_);
  const std::size_t fitting = std::clamp<std::size_t>(bytes / kBytesOfABlock, 1, most);
  return choice.blocks ? std::min(choice.blocks, most) : unsigned(fitting);
}

// Each rank has its part added up on the way to it, and stores the sum to all.
void Engine::run_nvls(const Operation& operation, cuda::Stream stream, const Choice& choice) {
  if (!registered_memory_.can_multicast(operation)) {
    throw Error(
        ErrorCode::kInvalid,
        "NVLS adds up float, half and bfloat16 in symmetric memory with a multicast address "
        "(RAILGAUGE_MULTICAST=1), whole and aligned words of 16 bytes");
  }
  RegisteredArguments arguments = registered_arguments(operation);
  arguments.same_source = arguments.same_destination = true;
  Operation on_all = operation;
  on_all.source = registered_memory_.multicast(arguments.source);
  on_all.destination = registered_memory_.multicast(arguments.destination);
  on_registered(on_all, rank_, ranks(), arguments);
  const std::size_t bytes = longest(operation, ranks(), true);
  launch(operation, Way::kNvls, blocks_for(bytes, choice), kRegisteredThreads, stream, &arguments);
}

// There is a barrier before, when all destinations may be written, and after. A failed barrier does
// not prevent the copies after it: its result is known only on the GPU, and copy engines check
// nothing. They stay within the peers' registrations, which are as long as this rank's, which
// contains its whole destination; check() then reports the failure. Copies between GPUs are on a
// stream of their own: on the default one they would wait for all that runs on either GPU.
void Engine::run_copies(const Operation& operation, cuda::Stream stream) {
  if (!registered_memory_.can_copy(operation))
    throw Error(ErrorCode::kInvalid, "the copy engine copies only within symmetric memory");
  RegisteredArguments transfers{}, barrier = registered_arguments(operation);
  on_registered(operation, rank_, ranks(), transfers);
  barrier.same_destination = true;
  launch(operation, Way::kRegistered, 1, kRegisteredThreads, stream, &barrier);
  const auto copy = [&](void* to, const void* from, std::size_t count, cuda::Stream on) {
    cuda_.check(cuda_.memory_copy(reinterpret_cast<cuda::Pointer>(to),
                                  reinterpret_cast<cuda::Pointer>(from),
                                  count * operation.element_bytes(), on),
                std::string("copying for ") + collective_name(operation.collective));
  };
  auto& copying = cuda::capture_of(stream) ? copying_captured_ : copying_;
  if (!copying) copying.emplace(gpu_.context());
  const cuda::Stream beside = copying->fork(stream);
  for (int step = 1; step < ranks(); ++step) {
    const int peer = (rank_ + step) % ranks();
    if (!transfers.put_count[peer]) continue;
    char* to = registered_memory_.begin(barrier.destination, peer) + barrier.destination.at;
    copy(to + transfers.put_at[peer], transfers.put[peer], transfers.put_count[peer], beside);
  }
  if (transfers.own) copy(transfers.result, transfers.own, transfers.reduce_count, stream);
  copying->join(stream);
  launch(operation, Way::kRegistered, 1, kRegisteredThreads, stream, &barrier);
}

}  // namespace railgauge::gpu
