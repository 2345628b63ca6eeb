// SPDX-License-Identifier: Apache-2.0
#include "transports/native/ib/link.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace railgauge::ib {

namespace {

constexpr std::uint32_t kMagic = 0x52474933;  // "RGI3"; another byte order does not match
constexpr int kMostPairs = 256;               // what an immediate can count
constexpr int kPollAtOnce = 16;
constexpr std::chrono::seconds kProbeEvery{1}, kLeastPatience{5};

struct LinkFacts {
  std::uint32_t magic, sends, slots, slot_bytes, rails, queue_pairs, split, unused;
  std::uint64_t memory_at;
};
static_assert(sizeof(LinkFacts) == 40);

const End& checked(const End& end, const CompletionChannels& channels) {
  const long pairs = static_cast<long>(channels.size()) * end.queue_pairs;
  if (pairs < 1 || pairs > kMostPairs) {
    throw Error(ErrorCode::kInvalid, "a connection takes 1 to " + std::to_string(kMostPairs) +
                                         " queue pairs, not " + std::to_string(pairs) +
                                         " (NCCL_IB_QPS_PER_CONNECTION)");
  }
  return end;
}

QueuePair::Depth depth_of(const End& end) {
  const std::uint32_t messages = SlotLayout{end.slots, end.slot_bytes}.messages();
  return {Link::kWritesOfPiece * messages + Link::kSpare, messages + Link::kSpare};
}

Clock::duration patience_of(const CompletionChannels& channels) {
  Clock::duration longest = kLeastPatience;
  for (const auto& channel : channels) {
    const RailSettings& settings = channel->rail()->settings();
    const std::chrono::nanoseconds one_try{std::int64_t{4096} << settings.timeout};
    longest = std::max<Clock::duration>(longest, 2 * (settings.retry_count + 1) * one_try);
  }
  return longest;
}

void require_same(const char* what, std::uint32_t ours, std::uint32_t theirs, int peer) {
  if (ours == theirs) return;
  throw Error(ErrorCode::kMismatch, "the connection with rank " + std::to_string(peer) + " has " +
                                        std::to_string(ours) + " " + what + " here and " +
                                        std::to_string(theirs) +
                                        " there: the NCCL_ settings of both ends must be the same");
}

}  // namespace

Link::Link(const End& end, const CompletionChannels& channels, bool sends)
    : health_(std::make_shared<Health>(end.peer, end.address)),
      sends_(sends),
      striping_(static_cast<std::uint32_t>(channels.size()),
                static_cast<std::uint32_t>(checked(end, channels).queue_pairs), end.split),
      memory_(rails_of(channels), {end.slots, end.slot_bytes}, sends ? 0 : abi::kRemoteWrite),
      queue_pairs_(static_cast<std::uint32_t>(end.queue_pairs)),
      patience_(patience_of(channels)),
      pulses_(channels.size()),
      used_receives_(channels.size() * queue_pairs_) {
  const QueuePair::Depth depth = depth_of(end);
  for (const auto& channel : channels) {
    completions_.push_back(
        std::make_unique<CompletionQueue>(channel, queue_pairs_ * (depth.sends + depth.receives)));
  }
  for (std::uint32_t number = 0; number < used_receives_.size(); ++number) {
    const std::size_t rail = number % channels.size();
    pairs_.push_back(
        std::make_unique<QueuePair>(channels[rail]->rail(), *completions_[rail], number, depth));
  }
}

std::string Link::facts() const {
  const auto rails = static_cast<std::uint32_t>(completions_.size());
  LinkFacts own{kMagic,
                sends_,
                memory_.layout().slots,
                memory_.layout().slot_bytes,
                rails,
                queue_pairs_,
                striping_.group() != rails,
                0,
                reinterpret_cast<std::uint64_t>(memory_.region().data())};
  std::string bytes(reinterpret_cast<const char*>(&own), sizeof own);
  for (std::size_t number = 0; number < pairs_.size(); ++number) {
    QueuePairFacts facts = pairs_[number]->facts();
    facts.rkey = memory_.region().rkey(pairs_[number]->rail());
    bytes.append(reinterpret_cast<const char*>(&facts), sizeof facts);
  }
  return bytes;
}

void Link::connect(const std::string& peer_facts) {
  const int peer = health_->peer();
  LinkFacts theirs{};
  std::memcpy(&theirs, peer_facts.data(), std::min(sizeof theirs, peer_facts.size()));
  if (theirs.magic != kMagic || theirs.sends == static_cast<std::uint32_t>(sends_)) {
    throw Error(ErrorCode::kMismatch, "rank " + std::to_string(peer) +
                                          " has no end for this RDMA connection: do both "
                                          "ranks run the same version?");
  }
  const auto rails = static_cast<std::uint32_t>(completions_.size());
  require_same("ports (NCCL_IB_HCA, NCCL_IB_MERGE_NICS)", rails, theirs.rails, peer);
  require_same("queue pairs on each port (NCCL_IB_QPS_PER_CONNECTION)", queue_pairs_,
               theirs.queue_pairs, peer);
  require_same("split messages (NCCL_IB_SPLIT_DATA_ON_QPS)", striping_.group() != rails,
               theirs.split, peer);
  require_same("slots", memory_.layout().slots, theirs.slots, peer);
  require_same("bytes in a slot (NCCL_BUFFSIZE)", memory_.layout().slot_bytes, theirs.slot_bytes,
               peer);
  if (peer_facts.size() != sizeof theirs + pairs_.size() * sizeof(QueuePairFacts)) {
    throw Error(ErrorCode::kMismatch,
                "the description that rank " + std::to_string(peer) + " sent is truncated");
  }
  peer_memory_ = theirs.memory_at;
  for (std::size_t number = 0; number < pairs_.size(); ++number) {
    QueuePairFacts facts;
    std::memcpy(&facts, peer_facts.data() + sizeof theirs + number * sizeof facts, sizeof facts);
    pairs_[number]->connect(facts, static_cast<std::uint32_t>(number) / rails);
    peer_rkeys_.push_back(facts.rkey);
  }
  connected_ = true;
}

std::vector<QueuePairAttributes> Link::attributes() const {
  std::vector<QueuePairAttributes> all;
  for (const auto& pair : pairs_) all.push_back(pair->attributes());
  return all;
}

bool Link::move() {
  Completion came[kPollAtOnce];
  bool any = false;
  if (pairs_.empty()) return false;  // closed
  for (std::size_t rail = 0; rail < completions_.size(); ++rail) {
    int count;
    do {
      count = completions_[rail]->poll(came, kPollAtOnce);
      for (int i = 0; i < count; ++i) take(came[i]);
      pulses_[rail].heard |= count > 0;
      any |= count > 0;
    } while (count == kPollAtOnce);
  }
  if (can_post()) after_move();
  return any;
}

void Link::post_receives() {
  for (std::size_t number = 0; number < pairs_.size(); ++number) {
    pairs_[number]->post_receives(std::exchange(used_receives_[number], 0));
  }
}

void Link::take(const Completion& completion) {
  if (completion.status == abi::kWcFlushed) {  // by a failure whose own completion has the details
    flushed_ = pairs_[completion.queue_pair]->rail().name();
    return;
  }
  if (completion.status != abi::kWcSuccess) return fail(completion);
  if (completion.kind == Completion::kSend) {
    return pairs_[completion.queue_pair]->done(completion.number);
  }
  ++used_receives_[completion.queue_pair];
  if (completion.kind == Completion::kMessage) return take_piece(Piece::from(completion.immediate));
  if ((completion.immediate & kBye) == 0) return take_note(completion.immediate);
  bye_count_ = completion.immediate & ~kBye;
  health_->fail(Health::kEnded, "it closed the connection: did its process end?");
}

void Link::fail(const Completion& completion) {
  if (health_->closing()) return;
  const Rail& rail = pairs_[completion.queue_pair]->rail();
  std::string why = "RDMA over " + rail.name() +
                    " failed: " + Verbs::get().wc_status_str(completion.status) +
                    " (vendor error " + std::to_string(completion.vendor_error) + ")";
  if (completion.status == abi::kWcRetryExceeded) {
    why += ": no answer in " + std::to_string(rail.settings().retry_count + 1) +
           " tries; is its process gone, a link down, or does the network lose packets "
           "(NCCL_IB_TIMEOUT, NCCL_IB_RETRY_CNT)?";
  }
  health_->fail(Health::kBroken, why);
}

void Link::arm() {
  for (auto& queue : completions_) queue->arm();
}

void Link::probe(Clock::time_point now) {
  if (!connected_ || health_->state() != Health::kSound || failed_without_cause(now)) return;
  if (now < probe_at_) return;
  probe_at_ = now + kProbeEvery;
  for (std::size_t rail = 0; rail < pulses_.size() && can_post(); ++rail) {
    probe(pulses_[rail], *pairs_[rail], now);
  }
}

void Link::probe(Pulse& pulse, QueuePair& pair, Clock::time_point now) {
  if (!pulse.heard && pulse.probing && now - pulse.probing_since > patience_) {
    move();  // the answer may be there already
    if (!can_post()) return;
    if (!pulse.heard) {
      return health_->fail(Health::kBroken, "it answers nothing over " + pair.rail().name() +
                                                " any more: is its process gone, or a link down?");
    }
  }
  if (pulse.heard) {
    pulse.heard = pulse.probing = false;
    return;
  }
  if (!pulse.probing) pulse.probing_since = now;
  pulse.probing = true;
  if (pulse.probe <= pair.done() && pair.has_room(1)) pulse.probe = send_nothing(pair);
}

bool Link::failed_without_cause(Clock::time_point now) {
  if (flushed_.empty()) return false;
  if (flushed_since_ == Clock::time_point{}) flushed_since_ = now;
  if (now - flushed_since_ >= kProbeEvery) {
    health_->fail(Health::kBroken,
                  "RDMA over " + flushed_ + " failed, and its device gives no reason");
  }
  return true;
}

void Link::send_note(std::uint32_t immediate, bool signaled) {
  abi::SendWr wr{};
  wr.opcode = abi::kWrSendWithImm;
  wr.imm_data = htonl(immediate);
  pairs_[0]->post(wr, signaled);
}

std::uint64_t Link::send_nothing(QueuePair& pair) {
  abi::SendWr wr{};
  wr.opcode = abi::kWrRdmaWrite;  // of no bytes: it takes no key (IBTA C9-88)
  return pair.post(wr, true);
}

void Link::say_bye() {
  if (!can_post()) return;
  for (std::size_t number = 1; number < pairs_.size(); ++number) {
    QueuePair& pair = *pairs_[number];
    if (pair.done() < pair.posted() && pair.has_room(1)) send_nothing(pair);
  }
  if (pairs_[0]->has_room(1)) send_note(kBye | (count_to_tell() & ~kBye), true);
}

bool Link::drained() const {
  return health_->state() != Health::kSound || !flushed_.empty() ||
         std::all_of(pairs_.begin(), pairs_.end(),
                     [](auto& pair) { return pair->done() == pair->posted(); });
}

void Link::close() {
  health_->close();
  connected_ = false;
  pairs_.clear();
}

}  // namespace railgauge::ib
