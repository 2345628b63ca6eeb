// SPDX-License-Identifier: Apache-2.0
// What kernels/registered.cuh comes to: one block that meets its peers', moves all there is, and
// meets them again.
#include <vector>

#include "combining.h"
#include "connection.h"
#include "kernels.h"

namespace railgauge::gpu {

namespace {

class Registered {
 public:
  Registered(const RegisteredArguments& a, Dtype dtype, Redop op)
      : a_(a), combine_(dtype, op), size_(combine_.element_bytes()) {}

  void run() {
    const std::uint32_t round = a_.base.memory->barrier[0] + 1;
    for_peers([&](int peer) {
      Barrier* theirs = barrier(a_.out[peer]);
      theirs->source.first = a_.source.word();
      theirs->destination.first = a_.destination.word();
      __atomic_store_n(&theirs->destination.second, round, __ATOMIC_RELEASE);
    });
    const auto round_of = [&](int peer) { return &barrier(a_.in[peer])->destination.second; };
    if (!all(round_of, std::uint64_t(round))) return;
    bool apart = false;
    for_peers([&](int peer) {
      const Barrier* own = barrier(a_.in[peer]);
      const Place from = Place::of(own->source.first), to = Place::of(own->destination.first);
      source_[peer] = a_.registrations[from.registration].begin[peer] + from.at;
      destination_[peer] = a_.registrations[to.registration].begin[peer] + to.at;
      if (!a_.symmetric || own->destination.first == a_.destination.word()) return;
      a_.base.status->elsewhere = 1 + peer;
      apart = true;
    });
    if (apart) return;
    for_peers([&](int peer) {
      if (const std::size_t bytes = a_.put_count[peer] * size_)
        std::memcpy(destination_[peer] + a_.put_at[peer], a_.put[peer], bytes);
    });
    reduce();
    for_peers(
        [&](int peer) { __atomic_store_n(&barrier(a_.out[peer])->done, round, __ATOMIC_RELEASE); });
    all([&](int peer) { return &barrier(a_.in[peer])->done; }, round);
    a_.base.memory->barrier[0] = round;
  }

 private:
  template <class Do>
  void for_peers(Do each) {
    for (int peer = 0; peer < a_.ranks; ++peer) {
      if (peer != a_.rank) each(peer);
    }
  }
  // Until a word that each peer writes has a value; false where the wait was ended.
  template <class Word, class Value>
  bool all(Word word, Value value) {
    Patience patience(a_.base);
    bool goes_on = true;
    for_peers([&](int peer) {
      while (goes_on && __atomic_load_n(word(peer), __ATOMIC_ACQUIRE) != value)
        goes_on = patience.goes_on(false, peer);
      patience.goes_on(true, peer);
    });
    return goes_on;
  }
  Barrier* barrier(char* buffer) const {
    return reinterpret_cast<Barrier*>(buffer + a_.base.layout.barriers_at());
  }
  void reduce() {
    std::vector<const void*> inputs;
    std::vector<char*> targets;
    if (a_.result) targets.push_back(static_cast<char*>(a_.result));
    for (int rank = 0; rank < a_.ranks; ++rank) {
      if (rank == a_.rank && a_.own) inputs.push_back(a_.own);
      if (a_.reduce_from >> rank & 1) inputs.push_back(source_[rank] + a_.reduce_at[rank]);
      if (a_.share_with >> rank & 1) targets.push_back(destination_[rank] + a_.share_at[rank]);
    }
    if (a_.reduce_count) combine_(targets, inputs, a_.reduce_count * size_, a_.divide_by);
  }

  const RegisteredArguments& a_;
  const Combining combine_;
  const std::size_t size_;
  char *source_[kMostRanks] = {}, *destination_[kMostRanks] = {};
};

const bool kAdded = [] {
  for (const Redop op : {Redop::kSum, Redop::kProd, Redop::kMin, Redop::kMax}) {
    const auto name = std::string("registered_") + kOps[static_cast<int>(op)];
    cuda::add_kernel(name, [op](auto dtype, void** parameters) {
      return [=, arguments = cuda::parameter<RegisteredArguments>(parameters, 0)] {
        Registered(arguments, dtype.value(), op).run();
      };
    });
  }
  return true;
}();

}  // namespace

}  // namespace railgauge::gpu
