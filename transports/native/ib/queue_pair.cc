// SPDX-License-Identifier: Apache-2.0
#include "transports/native/ib/queue_pair.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>

namespace railgauge::ib {

namespace {

constexpr std::uint32_t kWantedInline = 128;
constexpr std::uint32_t kPartsOfSend = 2;  // a header and data
constexpr std::uint32_t kReceivesAtOnce = 16;
constexpr std::uint8_t kRnrTimer = 12;  // 0.64 ms, as NCCL's; receives are posted ahead, so it
constexpr std::uint8_t kRnrRetry = 7;   // is not needed; 7: for ever
constexpr std::uint8_t kHopLimit = 255;
constexpr std::uint16_t kPartition = 0x7fff;  // of a partition key; the bit above: full member

// The first packet number of a queue pair; any number, as long as it differs from the previous
// pair's with the same queue pair number.
std::uint32_t packet_number() {
  static thread_local std::mt19937 random{std::random_device{}()};
  return random() & 0xffffff;
}

abi::Qp* create(const Rail& rail, CompletionQueue& queue, QueuePair::Depth depth,
                std::uint32_t& inline_bytes) {
  abi::QpInitAttr attributes{};
  attributes.send_cq = attributes.recv_cq = queue.get();
  attributes.qp_type = abi::kQptRc;
  attributes.cap = {depth.sends, depth.receives, kPartsOfSend, 1, kWantedInline};
  abi::Qp* qp = Verbs::get().create_qp(rail.pd(), &attributes);
  if (!qp) {
    attributes.cap = {depth.sends, depth.receives, kPartsOfSend, 1,
                      0};  // a device without inline data
    qp = Verbs::get().create_qp(rail.pd(), &attributes);
  }
  if (!qp) throw verbs_error(rail.name() + ": making a queue pair", errno);
  inline_bytes = attributes.cap.max_inline_data;
  return qp;
}

std::string hexadecimal(std::uint16_t value) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%04x", value);
  return text;
}

}  // namespace

QueuePair::QueuePair(std::shared_ptr<Rail> rail, CompletionQueue& queue, std::uint32_t number,
                     Depth depth, unsigned access)
    : rail_(std::move(rail)),
      number_(number),
      depth_(depth),
      qp_(create(*rail_, queue, depth, inline_bytes_)),
      psn_(packet_number()) {
  abi::QpAttr attributes{};
  attributes.qp_state = abi::kQpsInit;
  attributes.pkey_index = static_cast<std::uint16_t>(rail_->settings().pkey_index);
  attributes.port_num = static_cast<std::uint8_t>(rail_->port());
  attributes.qp_access_flags = access;
  try {
    modify(attributes, abi::kQpState | abi::kQpPkeyIndex | abi::kQpPort | abi::kQpAccessFlags,
           "INIT", "");
    post_receives(depth.receives);
  } catch (...) {
    Verbs::get().destroy_qp(qp_);
    throw;
  }
}

QueuePair::~QueuePair() { Verbs::get().destroy_qp(qp_); }

QueuePairFacts QueuePair::facts() const {
  QueuePairFacts facts{};
  facts.qpn = qp_->qp_num;
  facts.psn = psn_;
  facts.lid = rail_->attributes().lid;
  facts.lmc = rail_->attributes().lmc;
  facts.port_flags = rail_->attributes().flags;
  facts.pkey = rail_->pkey();
  facts.mtu = static_cast<std::uint8_t>(rail_->attributes().active_mtu);
  facts.link_layer = rail_->attributes().link_layer;
  facts.gid = rail_->gid();
  return facts;
}

void QueuePair::connect(const QueuePairFacts& peer, std::uint32_t number) {
  const RailSettings& settings = rail_->settings();
  const abi::PortAttr& port = rail_->attributes();
  const std::string where = gid_text(peer.gid) + " (LID " + std::to_string(peer.lid) +
                            ", queue pair " + std::to_string(peer.qpn) + ")";
  if (peer.link_layer != port.link_layer) {
    throw Error(ErrorCode::kInvalid, rail_->name() + " is " +
                                         (rail_->ethernet() ? "RoCE" : "InfiniBand") +
                                         ", the port of " + where +
                                         " is not: NCCL_IB_HCA must name devices of one network");
  }
  if (((peer.pkey ^ rail_->pkey()) & kPartition) != 0) {
    throw Error(ErrorCode::kMismatch, rail_->name() + " has the partition key " +
                                          hexadecimal(rail_->pkey()) + " at index " +
                                          std::to_string(settings.pkey_index) + ", the port of " +
                                          where + " has " + hexadecimal(peer.pkey) +
                                          ": the indices (NCCL_IB_PKEY) must name one partition");
  }
  abi::QpAttr attributes{};
  attributes.qp_state = abi::kQpsRtr;
  attributes.path_mtu = std::min<int>(port.active_mtu, peer.mtu);
  attributes.dest_qp_num = peer.qpn;
  attributes.rq_psn = peer.psn;
  attributes.max_dest_rd_atomic = 1;
  attributes.min_rnr_timer = kRnrTimer;
  abi::AhAttr& to = attributes.ah_attr;
  to.port_num = static_cast<std::uint8_t>(rail_->port());
  to.sl = static_cast<std::uint8_t>(settings.service_level);
  const Address address = address_of(facts(), peer, number);
  to.dlid = address.way.to;
  to.src_path_bits = address.way.from_bits;
  if (address.is_global) {
    to.is_global = 1;
    to.grh.dgid = peer.gid;
    to.grh.sgid_index = static_cast<std::uint8_t>(rail_->gid_index());
    to.grh.hop_limit = kHopLimit;
    to.grh.traffic_class = static_cast<std::uint8_t>(settings.traffic_class);
  }
  modify(attributes,
         abi::kQpState | abi::kQpAv | abi::kQpPathMtu | abi::kQpDestQpn | abi::kQpRqPsn |
             abi::kQpMaxDestRdAtomic | abi::kQpMinRnrTimer,
         "RTR", where);
  attributes = {};
  attributes.qp_state = abi::kQpsRts;
  attributes.timeout = static_cast<std::uint8_t>(settings.timeout);
  attributes.retry_cnt = static_cast<std::uint8_t>(settings.retry_count);
  attributes.rnr_retry = kRnrRetry;
  attributes.sq_psn = psn_;
  attributes.max_rd_atomic = 1;
  modify(attributes,
         abi::kQpState | abi::kQpTimeout | abi::kQpRetryCnt | abi::kQpRnrRetry | abi::kQpSqPsn |
             abi::kQpMaxQpRdAtomic,
         "RTS", where);
}

// As NCCL's wrap_ibv_modify_qp (misc/ibvwrap.cc): a device that resolves the peer's address may not
// have an answer yet.
void QueuePair::modify(abi::QpAttr& attributes, int mask, const char* to, const std::string& peer) {
  const RailSettings& settings = rail_->settings();
  int error = 0;
  for (std::int64_t again = 0; again <= settings.modify_retries; ++again) {
    std::this_thread::sleep_for(again * settings.modify_pause);
    error = std::abs(Verbs::get().modify_qp(qp_, &attributes, mask));
    if (error == 0) return;
    if (error != ETIMEDOUT && !settings.modify_retries_all) break;
  }
  throw verbs_error(rail_->name() + ", GID " + std::to_string(rail_->gid_index()) + " " +
                        gid_text(rail_->gid()) + ": bringing a queue pair to " + to +
                        (peer.empty() ? ""
                                      : " towards " + peer +
                                            " (is that GID in a subnet that this port reaches? "
                                            "NCCL_IB_GID_INDEX, NCCL_IB_HCA)"),
                    error);
}

QueuePairAttributes QueuePair::attributes() const {
  abi::QpAttr attributes{};
  abi::QpInitAttr made{};
  const int mask = abi::kQpState | abi::kQpAv | abi::kQpPathMtu | abi::kQpTimeout |
                   abi::kQpRetryCnt | abi::kQpPkeyIndex;
  if (int error = Verbs::get().query_qp(qp_, &attributes, mask, &made)) {
    throw verbs_error(rail_->name() + ": asking for a queue pair", error);
  }
  const abi::AhAttr& to = attributes.ah_attr;
  return {rail_->name(),
          qp_->qp_num,
          attributes.qp_state,
          mtu_bytes(attributes.path_mtu),
          attributes.timeout,
          attributes.retry_cnt,
          to.sl,
          to.grh.traffic_class,
          to.grh.sgid_index,
          attributes.pkey_index,
          to.is_global != 0,
          to.dlid,
          static_cast<int>(inline_bytes_)};
}

std::uint64_t QueuePair::post(abi::SendWr& wr, bool signaled) {
  ++posted_;
  if (signaled || posted_ - signaled_ >= std::max(1u, depth_.sends / 4)) {
    wr.send_flags |= abi::kSendSignaled;
    signaled_ = posted_;
  }
  wr.wr_id = Completion::id(number_, posted_);
  wr.next = nullptr;
  abi::SendWr* bad = nullptr;
  if (int error = qp_->context->ops.post_send(qp_, &wr, &bad)) {
    throw verbs_error(rail_->name() + ": posting a send", error);
  }
  return posted_;
}

void QueuePair::post_receives(std::uint32_t count) {
  while (count > 0) {
    const std::uint32_t now = std::min(count, kReceivesAtOnce);
    abi::RecvWr chain[kReceivesAtOnce];
    for (std::uint32_t i = 0; i < now; ++i) {
      chain[i] = {Completion::id(number_, 0), i + 1 < now ? &chain[i + 1] : nullptr, nullptr, 0};
    }
    abi::RecvWr* bad = nullptr;
    if (int error = qp_->context->ops.post_recv(qp_, chain, &bad)) {
      throw verbs_error(rail_->name() + ": posting receives", error);
    }
    count -= now;
  }
}

}  // namespace railgauge::ib
