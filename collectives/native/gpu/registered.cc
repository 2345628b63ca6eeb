// SPDX-License-Identifier: Apache-2.0
// The engine's operations on registered memory: by a kernel, or by the copy engine.
#include <algorithm>

#include "collectives/native/gpu/engine.h"
#include "collectives/native/gpu/exchange.h"

namespace railgauge::gpu {

namespace {

constexpr unsigned kThreads = 512;
constexpr std::size_t kBytesOfABlock = 16 << 10;

}  // namespace

RegisteredArguments Engine::registered_arguments(const Operation& o) const {
  RegisteredArguments a{};
  a.base = base(0);
  a.rank = rank_;
  a.ranks = ranks();
  for (int rank = 0; rank < ranks(); ++rank) {
    a.in[rank] = boxes_.in(rank).words;
    a.out[rank] = boxes_.out(rank).words;
  }
  a.windows = windows_.on_gpu();
  // A rank that has no such array is not asked for it.
  if (o.source) a.source = *windows_.source(o);
  if (o.destination) a.destination = *windows_.destination(o);
  return a;
}

void Engine::run_registered(const Operation& operation, cuda::Stream stream, const Choice& choice) {
  if (!windows_.have(operation))
    throw Error(ErrorCode::kInvalid, "these arrays are not registered memory");
  RegisteredArguments arguments = registered_arguments(operation);
  on_registered(operation, rank_, ranks(), arguments);
  const std::size_t bytes = longest(operation, ranks(), operation.reduces());
  const unsigned most = std::min<unsigned>(layout_.blocks, least_processors_);
  const std::size_t fitting = std::clamp<std::size_t>(bytes / kBytesOfABlock, 1, most);
  const unsigned blocks = choice.blocks ? std::min(choice.blocks, most) : unsigned(fitting);
  launch(operation, Way::kRegistered, blocks, kThreads, stream, &arguments);
}

// Ranks meet before, when all destinations may be written, and after. A meeting that fails does not
// keep the copies behind it from being made: whether it does is known on the GPU alone, and copy
// engines ask nothing. They stay within the peers' windows, which are as long as this rank's, where
// its destination lies as a whole; check() then tells of the failure. Copies between GPUs are on a
// stream of their own: on the default one they would wait for all that runs on either GPU.
void Engine::run_copies(const Operation& operation, cuda::Stream stream) {
  if (!windows_.can_copy(operation))
    throw Error(ErrorCode::kInvalid, "the copy engine copies only within symmetric memory");
  RegisteredArguments transfers{}, meeting = registered_arguments(operation);
  on_registered(operation, rank_, ranks(), transfers);
  meeting.symmetric = true;
  launch(operation, Way::kRegistered, 1, kThreads, stream, &meeting);
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
    char* to = windows_.begin(meeting.destination, peer) + meeting.destination.at;
    copy(to + transfers.put_at[peer], transfers.put[peer], transfers.put_count[peer], beside);
  }
  if (transfers.own) copy(transfers.result, transfers.own, transfers.reduce_count, stream);
  copying->join(stream);
  launch(operation, Way::kRegistered, 1, kThreads, stream, &meeting);
}

}  // namespace railgauge::gpu
