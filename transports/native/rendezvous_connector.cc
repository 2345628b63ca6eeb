// SPDX-License-Identifier: Apache-2.0
#include "transports/native/rendezvous_connector.h"

#include <map>
#include <sstream>
#include <tuple>

#include "transports/native/error.h"
#include "transports/native/shm/connection.h"
#include "transports/native/socket/arrivals.h"
#include "transports/native/socket/connection.h"

namespace railgauge {

namespace {

constexpr std::uint32_t kSlots = 4, kSlotBytes = 256 << 10;  // transports/slots.py
constexpr std::size_t kPlaceBytes = 64 << 10;                // HOST_PLACE_BYTES
constexpr char kVia[] = "NET/Socket/0";

using Name = std::tuple<int, int, int>;

Name name_of(const Wire& wire) { return {wire.channel, wire.source, wire.target}; }

// What a rank offers of the wires that end there: where it listens, and by wire its segment.
//
//   net ADDRESS PORT TOKEN
//   shm CHANNEL FROM DESCRIPTOR
struct Offers {
  std::string socket;
  std::map<std::pair<int, int>, std::string> segments;  // by channel and sending rank

  std::string packed() const {
    std::string text = socket.empty() ? "" : "net " + socket + "\n";
    for (const auto& [from, descriptor] : segments) {
      text += "shm " + std::to_string(from.first) + " " + std::to_string(from.second) + " " +
              descriptor + "\n";
    }
    return text;
  }

  static Offers unpacked(const std::string& bytes) {
    Offers offers;
    std::istringstream text(bytes);
    for (std::string kind; text >> kind;) {
      if (kind == "net") {
        text.ignore();
        std::getline(text, offers.socket);
        continue;
      }
      int channel = 0, source = 0;
      text >> channel >> source;
      text >> offers.segments[{channel, source}];
    }
    return offers;
  }
};

}  // namespace

RendezvousConnector::RendezvousConnector(Rendezvous& rendezvous, int rank, int ranks,
                                         std::string address, std::chrono::nanoseconds timeout)
    : rendezvous_(rendezvous),
      rank_(rank),
      ranks_(ranks),
      address_(std::move(address)),
      timeout_(timeout),
      doorbells_(ranks) {
  doorbells_[rank] = doorbell_;
  if (!address_.empty()) proxy_ = std::make_shared<socket::Proxy>(doorbell_, timeout_);
}

RendezvousConnector::~RendezvousConnector() {
  if (proxy_) proxy_->close();
}

std::vector<std::string> RendezvousConnector::all_gather(const std::string& own) {
  std::vector<std::string> all = rendezvous_.all_gather(own);
  if (static_cast<int>(all.size()) != ranks_) {
    throw Error(ErrorCode::kMismatch, "the rendezvous gave the bytes of " +
                                          std::to_string(all.size()) + " ranks, not of " +
                                          std::to_string(ranks_));
  }
  return all;
}

std::vector<std::shared_ptr<Connection>> RendezvousConnector::connect(
    const std::vector<Wire>& wires) {
  const auto until = std::chrono::steady_clock::now() + timeout_;
  if (descriptors_.empty()) descriptors_ = all_gather(doorbell_->descriptor());
  std::unique_ptr<socket::Arrivals> arrivals;
  std::map<socket::SocketName, int> expected;
  std::map<Name, std::shared_ptr<Connection>> ends;
  Offers own;
  for (const Wire& wire : wires) {
    if (wire.route && !proxy_ && (wire.source == rank_ || wire.target == rank_)) {
      throw Error(ErrorCode::kInvalid,
                  "rank " + std::to_string(wire.source == rank_ ? wire.target : wire.source) +
                      " is on another host: Options::address must be this host's IP address");
    }
    if (wire.target != rank_) continue;
    if (wire.route) {
      if (!arrivals) arrivals = std::make_unique<socket::Arrivals>(address_);
      expected[name_of(wire)] = wire.source;
      continue;
    }
    auto receiver = std::make_shared<shm::ShmReceiver>(wire.source, doorbell_of(wire.source),
                                                       kSlots, kSlotBytes);
    own.segments[{wire.channel, wire.source}] = receiver->descriptor();
    ends[name_of(wire)] = receiver;
  }
  if (arrivals) own.socket = arrivals->told();

  std::vector<Offers> offers;
  for (const std::string& bytes : all_gather(own.packed())) {
    offers.push_back(Offers::unpacked(bytes));
  }
  const auto add = [&](socket::SocketName name, Fd fd, int peer, bool sends) {
    socket::set_options(fd, timeout_);
    const std::string there = socket::peer_address(fd);
    const socket::End end{{fd.release()}, 0, peer, there, kVia, kSlots, kSlotBytes};
    if (sends) {
      ends[name] = std::make_shared<socket::SocketSender>(proxy_, end);
    } else {
      ends[name] = std::make_shared<socket::SocketReceiver>(proxy_, end);
    }
  };
  for (const Wire& wire : wires) {
    if (wire.source != rank_) continue;
    const Offers& there = offers[wire.target];
    if (wire.route) {
      add(name_of(wire), socket::open_socket(name_of(wire), there.socket, address_, until),
          wire.target, true);
      continue;
    }
    const auto offer = there.segments.find({wire.channel, rank_});
    if (offer == there.segments.end()) {
      throw Error(ErrorCode::kMismatch, "rank " + std::to_string(wire.target) +
                                            " offers no shared memory: do the plans differ?");
    }
    ends[name_of(wire)] = std::make_shared<shm::ShmSender>(wire.target, doorbell_of(wire.target),
                                                           shm::Segment::open(offer->second));
  }
  if (arrivals) {
    for (auto& [name, fd] : arrivals->take(expected, until)) {
      add(name, std::move(fd), std::get<1>(name), false);
    }
  }
  std::vector<std::shared_ptr<Connection>> made;
  for (const Wire& wire : wires) {
    const auto end = ends.find(name_of(wire));
    made.push_back(end == ends.end() ? nullptr : end->second);
  }
  return made;
}

std::shared_ptr<shm::SharedSegment> RendezvousConnector::shared_segment(
    const std::vector<int>& ranks) {
  if (descriptors_.empty()) descriptors_ = all_gather(doorbell_->descriptor());
  auto segment = std::make_shared<shm::SharedSegment>(kPlaceBytes);
  const std::vector<std::string> all = all_gather(segment->descriptor());
  std::vector<shm::SharedSegment::Peer> peers;
  for (int rank : ranks) {
    const bool own = rank == rank_;
    peers.push_back({rank, rank, own ? "" : all[rank], own ? nullptr : doorbell_of(rank)});
  }
  segment->open(peers);
  return segment;
}

void RendezvousConnector::abort() {
  doorbell_->abort();
  if (proxy_) proxy_->abort();
}

std::shared_ptr<Doorbell> RendezvousConnector::doorbell_of(int rank) {
  if (!doorbells_[rank]) doorbells_[rank] = Doorbell::open(descriptors_[rank]);
  return doorbells_[rank];
}

}  // namespace railgauge
