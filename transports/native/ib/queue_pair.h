// SPDX-License-Identifier: Apache-2.0
// A reliable connected queue pair on a rail (IBTA 9.7), brought up as in NCCL, and its posted but
// not yet completed work. One thread posts to it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "transports/native/ib/address.h"
#include "transports/native/ib/completion_queue.h"
#include "transports/native/ib/rail.h"

namespace railgauge::ib {

// The attributes of a queue pair, as ibv_query_qp(3) reports them.
struct QueuePairAttributes {
  std::string rail;
  std::uint32_t qpn;
  int state, path_mtu, timeout, retry_count, service_level, traffic_class, gid_index, pkey_index;
  bool is_global;
  int dlid;
  int inline_bytes;
};

class QueuePair {
 public:
  // Sends and receives that may be under way at once.
  struct Depth {
    std::uint32_t sends, receives;
  };
  // `number` identifies it among those of `queue` in Completion::queue_pair; `access`: what the
  // peer may do (enum ibv_access_flags).
  QueuePair(std::shared_ptr<Rail> rail, CompletionQueue& queue, std::uint32_t number, Depth depth,
            unsigned access = abi::kRemoteWrite);
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  const Rail& rail() const { return *rail_; }
  std::uint32_t inline_bytes() const { return inline_bytes_; }
  // Without an rkey.
  QueuePairFacts facts() const;
  // To the state in which it sends, as the `number`th between these ports. Throws Error(kMismatch)
  // for ports of different partitions, Error(kSystem) naming both ends.
  void connect(const QueuePairFacts& peer, std::uint32_t number);
  QueuePairAttributes attributes() const;
  // Whether that many more sends can be posted.
  bool has_room(std::uint32_t sends) const { return posted_ + sends <= done_ + depth_.sends; }
  // Posts `wr`, all of it but its wr_id and next set, asking for a completion when `signaled`, or
  // periodically, so that slots become free again. Returns its number, counted from 1.
  std::uint64_t post(abi::SendWr& wr, bool signaled);
  // All sends up to that number are done.
  void done(std::uint64_t number) { done_ = number; }
  std::uint64_t done() const { return done_; }
  std::uint64_t posted() const { return posted_; }
  // Posts receives for that many more immediates of the peer's.
  void post_receives(std::uint32_t count);

 private:
  void modify(abi::QpAttr& attributes, int mask, const char* to, const std::string& peer);

  std::shared_ptr<Rail> rail_;
  std::uint32_t number_;
  Depth depth_;
  abi::Qp* qp_;
  std::uint32_t inline_bytes_;
  std::uint32_t psn_;
  std::uint64_t posted_ = 0, signaled_ = 0, done_ = 0;
};

}  // namespace railgauge::ib
