// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/communicator.h"

#include "collectives/native/default_choices.h"
#include "collectives/native/host_engine.h"
#include "collectives/native/messages.h"
#include "collectives/native/spin.h"
#include "transports/native/error.h"
#include "transports/native/rank_host.h"
#include "transports/native/rendezvous_connector.h"

namespace railgauge {

namespace {

constexpr std::size_t kStreamBytes = 32 << 20;  // STREAM_BYTES of collectives/host_engine.py

void check_rank(int rank, int ranks) {
  if (ranks < 1 || rank < 0 || rank >= ranks) {
    throw Error(ErrorCode::kInvalid,
                "rank " + std::to_string(rank) + " of " + std::to_string(ranks) + " ranks");
  }
}

// All ranks' hosts; each rank is one of its own if it shares no memory.
std::vector<RankHost> hosts_of(RendezvousConnector& connector, int rank, bool share_memory) {
  RankHost own = RankHost::here();
  if (!share_memory) own.id.append("/").append(std::to_string(rank));
  std::vector<RankHost> hosts;
  for (const std::string& bytes : connector.all_gather(own.packed())) {
    hosts.push_back(RankHost::unpacked(bytes));
  }
  return hosts;
}

}  // namespace

// The connections end last: what uses them ends before.
struct Communicator::Parts {
  std::unique_ptr<RendezvousConnector> connector, messages_connector;  // null: made elsewhere
  std::unique_ptr<HostEngine> engine;
  std::shared_ptr<Messages> messages;  // null without point to point
};

struct Communicator::Request::Started {
  std::shared_ptr<Messages> messages;
  TransferPtr transfer;
};

Communicator::Communicator(std::unique_ptr<HostEngine> engine)
    : parts_(new Parts{nullptr, nullptr, std::move(engine), nullptr}) {}

Communicator::Communicator(Rendezvous& rendezvous, int rank, int ranks, const Options& options,
                           const Rings& rings)
    : parts_(new Parts) {
  check_rank(rank, ranks);
  const auto connector = [&] {
    return std::make_unique<RendezvousConnector>(rendezvous, rank, ranks, options.address,
                                                 options.timeout);
  };
  parts_->connector = connector();
  const std::vector<RankHost> hosts = hosts_of(*parts_->connector, rank, options.share_memory);
  const ConnectionPlan plan = default_plan(by_host(hosts), rings);
  const bool crowded = is_crowded(hosts, plan.host_of(rank));
  const auto waiting = [&](bool over_sockets) {
    return Waiting::Policy{options.timeout, spin_time(crowded, over_sockets)};
  };

  RankConnections connections = connect(rank, ranks, plan, *parts_->connector);
  const Waiting::Policy policy = waiting(connections.over_sockets);
  parts_->engine = std::make_unique<HostEngine>(rank, ranks, parts_->connector->doorbell(),
                                                std::move(connections),
                                                HostEngine::Options{policy, kStreamBytes});
  for (int number = 0; ranks > 1 && number < kCollectives; ++number) {
    const auto collective = static_cast<Collective>(number);
    parts_->engine->choose(collective, default_choices(collective, plan));
  }
  if (options.point_to_point) {
    parts_->messages_connector = connector();
    std::vector<Pair> pairs =
        connect_pairs(rank, ranks, Hosts{plan.hosts}, 0, *parts_->messages_connector);
    const Waiting::Policy between = waiting(over_sockets(pairs));
    parts_->messages = std::make_shared<Messages>(rank, std::move(pairs),
                                                  parts_->messages_connector->doorbell(), between);
  }
}

Communicator::~Communicator() = default;

int Communicator::rank() const { return parts_->engine->rank(); }
int Communicator::ranks() const { return parts_->engine->ranks(); }
HostEngine& Communicator::engine() { return *parts_->engine; }
const HostEngine& Communicator::engine() const { return *parts_->engine; }

void Communicator::run(const Operation& operation) {
  HostEngine& engine = *parts_->engine;
  check(operation, engine.rank(), engine.ranks());
  if (parts_->connector && !engine.has_pairs() && engine.ranks() > 1 &&
      engine.choice(operation).algorithm == Algorithm::kPairs) {
    engine.connect_pairs(*parts_->connector);
  }
  engine.run(operation);
}

void Communicator::barrier() { parts_->engine->barrier(); }

namespace {

void check_message(bool has_messages, int peer, int ranks, bool sends) {
  if (!has_messages) {
    throw Error(ErrorCode::kInvalid, "this communicator was made without point_to_point");
  }
  if (peer >= ranks || peer < (sends ? 0 : Communicator::kAnyRank)) {
    throw Error(ErrorCode::kInvalid, std::string(sends ? "send" : "recv") + ": rank " +
                                         std::to_string(peer) + ": ranks are 0 to " +
                                         std::to_string(ranks - 1));
  }
}

}  // namespace

Communicator::Request Communicator::send(const void* data, std::size_t count, Dtype dtype, int to,
                                         std::uint32_t tag) {
  check_message(parts_->messages != nullptr, to, ranks(), true);
  auto* bytes = static_cast<std::byte*>(const_cast<void*>(data));  // which a send only reads
  auto transfer = std::make_shared<Transfer>(Transfer::Kind::kSend, to, tag, dtype, bytes, count);
  parts_->messages->start(transfer);
  return Request(std::shared_ptr<Request::Started>(
      new Request::Started{parts_->messages, std::move(transfer)}));
}

Communicator::Request Communicator::recv(void* data, std::size_t count, Dtype dtype, int from,
                                         std::uint32_t tag) {
  check_message(parts_->messages != nullptr, from, ranks(), false);
  auto transfer = std::make_shared<Transfer>(Transfer::Kind::kRecv, from, tag, dtype,
                                             static_cast<std::byte*>(data), count);
  parts_->messages->start(transfer);
  return Request(std::shared_ptr<Request::Started>(
      new Request::Started{parts_->messages, std::move(transfer)}));
}

void Communicator::Request::wait() { started_->messages->wait(started_->transfer); }
bool Communicator::Request::done() const { return started_->transfer->done; }
int Communicator::Request::source() const { return started_->transfer->source; }

void Communicator::abort() {
  if (parts_->connector) parts_->connector->abort();
  if (parts_->messages_connector) parts_->messages_connector->abort();
}

}  // namespace railgauge
