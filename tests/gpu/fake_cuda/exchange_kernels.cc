// SPDX-License-Identifier: Apache-2.0
// What low_latency, full_lines and push come to: one Exchange, carried out in messages through
// staging buffers. The real kernels differ in how they write and wait.
#include <algorithm>
#include <vector>

#include "combining.h"
#include "connection.h"
#include "kernels.h"

namespace railgauge::gpu {

namespace {

// One array, chunk by chunk.
class Chunks {
 public:
  Chunks(const void* data, std::size_t bytes, std::size_t chunk)
      : data_(static_cast<char*>(const_cast<void*>(data))), bytes_(bytes), chunk_(chunk) {}
  bool over() const { return at_ >= bytes_; }
  std::size_t number() const { return at_ / chunk_; }
  char* now() const { return data_ ? data_ + at_ : nullptr; }
  std::size_t bytes() const { return std::min(chunk_, bytes_ - at_); }
  void next() { at_ += chunk_; }

 private:
  char* data_;
  std::size_t bytes_, chunk_, at_ = 0;
};

class Exchanging {
 public:
  Exchanging(const Arguments& a, Dtype dtype, Redop op)
      : a_(a),
        e_(a.exchange),
        combine_(dtype, op),
        size_(combine_.element_bytes()),
        own_(e_.own, e_.reduce_count * size_, chunk()),
        result_(e_.result, e_.reduce_count * size_, chunk()) {
    for (int peer = 0; peer < a.ranks; ++peer) {
      if (peer == a.rank) continue;
      peers_.push_back(
          {peer,
           {a.base, Connection::kGive, a.in[peer], a.out[peer]},
           {a.base, Connection::kShare, a.in[peer], a.out[peer]},
           {e_.give[peer], e_.give_count[peer] * size_, chunk()},
           {e_.land[peer], is_reduced(peer) ? 0 : e_.land_count[peer] * size_, chunk()},
           {e_.take[peer], e_.take_count[peer] * size_, chunk()}});
    }
  }

  void run() {
    Patience patience(a_.base);
    bool goes_on = true;
    while (goes_on && !over()) {
      bool moved = reduce();
      for (Peer& peer : peers_) moved |= give(peer) | land(peer) | take(peer);
      goes_on = patience.goes_on(moved, waits_for_);
    }
  }

 private:
  struct Peer {
    int rank;
    Connection inputs, results;
    Chunks given, landing, taken;
  };

  std::size_t chunk() const {
    const std::uint32_t slot = a_.base.layout.slot_bytes, asked = a_.base.chunk_bytes;
    return (asked ? std::min(asked, slot) : slot) / 16 * 16;
  }
  bool is_reduced(int peer) const { return e_.reduce_from >> peer & 1; }
  bool gets_result(int peer) const { return e_.share_with >> peer & 1; }
  bool over() const {
    return result_.over() && std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
             return peer.given.over() && peer.landing.over() && peer.taken.over();
           });
  }
  // The answer of what could not be done for that rank's sake.
  bool waits(const Peer& peer) {
    waits_for_ = a_.number[peer.rank];
    return false;
  }

  bool give(Peer& peer) {
    if (peer.given.over()) return false;
    if (!peer.inputs.has_room()) return waits(peer);
    std::memcpy(peer.inputs.outgoing(), peer.given.now(), peer.given.bytes());
    peer.inputs.send(peer.given.bytes());
    peer.given.next();
    return true;
  }

  // A chunk whose inputs are all there. In place its own input lies where the result goes: it must
  // have been given to all.
  bool reduce() {
    if (result_.over()) return false;
    for (Peer& peer : peers_) {
      if (!peer.given.over() && peer.given.number() <= result_.number()) return waits(peer);
      if (is_reduced(peer.rank) && !peer.inputs.has_message()) return waits(peer);
      if (gets_result(peer.rank) && !peer.results.has_room()) return waits(peer);
    }
    std::vector<const void*> inputs;
    std::vector<char*> targets;
    if (result_.now()) targets.push_back(result_.now());
    for (int rank = 0; rank < a_.ranks; ++rank) {
      if (rank == a_.rank && e_.own) inputs.push_back(own_.now());
      for (const Peer& peer : peers_) {
        if (peer.rank == rank && is_reduced(rank)) inputs.push_back(peer.inputs.incoming());
        if (peer.rank == rank && gets_result(rank)) targets.push_back(peer.results.outgoing());
      }
    }
    const std::size_t bytes = result_.bytes();
    combine_(targets, inputs, bytes, e_.divide_by);
    for (Peer& peer : peers_) {
      if (is_reduced(peer.rank)) peer.inputs.take();
      if (gets_result(peer.rank)) peer.results.send(bytes);
    }
    own_.next();
    result_.next();
    return true;
  }

  bool land(Peer& peer) { return copy_in(peer, peer.landing, peer.inputs); }
  bool take(Peer& peer) { return copy_in(peer, peer.taken, peer.results); }

  bool copy_in(const Peer& peer, Chunks& to, Connection& from) {
    if (to.over()) return false;
    if (!from.has_message()) return waits(peer);
    std::memcpy(to.now(), from.incoming(), to.bytes());
    from.take();
    to.next();
    return true;
  }

  const Arguments& a_;
  const Exchange& e_;
  const Combining combine_;
  const std::size_t size_;
  Chunks own_, result_;
  std::vector<Peer> peers_;
  int waits_for_ = 0;
};

const bool kAdded = [] {
  for (const std::string way : {"low_latency_", "full_lines_", "push_"}) {
    for (const Redop op : {Redop::kSum, Redop::kProd, Redop::kMin, Redop::kMax}) {
      cuda::add_kernel(way + kOps[static_cast<int>(op)], [op](auto dtype, void** parameters) {
        return [=, arguments = cuda::parameter<Arguments>(parameters, 0)] {
          Exchanging(arguments, dtype.value(), op).run();
        };
      });
    }
  }
  return true;
}();

}  // namespace

}  // namespace railgauge::gpu
