// SPDX-License-Identifier: Apache-2.0
// How a queue pair reaches its peer: by LID within an InfiniBand subnet, by GID on RoCE and between
// subnets, as NCCL chooses (ncclIbRtrQp of 2.30, transport/net_ib/connect.cc).
//
//   a GID of InfiniBand: | 10 bits fixed | 22 unused | FLID, 16 | subnet, 16 | port's GUID, 64 |
#pragma once

#include <cstdint>

#include "transports/native/ib/abi.h"

namespace railgauge::ib {

// What the other end needs to know about a queue pair; both ends exchange it as it lies in memory.
struct QueuePairFacts {
  std::uint32_t qpn, psn;
  std::uint16_t lid;
  std::uint8_t mtu;  // enum ibv_mtu
  std::uint8_t link_layer;
  abi::Gid gid;
  std::uint32_t rkey;  // of the slots, which receive messages
  std::uint8_t lmc;
  std::uint8_t port_flags;  // of ibv_port_attr
  std::uint16_t pkey;
};
static_assert(sizeof(QueuePairFacts) == 40);

inline std::uint16_t subnet_of(const abi::Gid& gid) {
  return static_cast<std::uint16_t>(gid.raw[6] << 8 | gid.raw[7]);
}
// The LID by which routers reach a port of another subnet; 0: it has none.
inline std::uint16_t flid_of(const abi::Gid& gid) {
  return static_cast<std::uint16_t>(gid.raw[4] << 8 | gid.raw[5]);
}

// One of the paths between two InfiniBand ports: a port has 2^LMC consecutive LIDs, to each of
// which the subnet manager may have set up another path (IBTA 7.11.1).
struct LidWay {
  std::uint16_t to;        // the LID there
  std::uint8_t from_bits;  // of the LID here, what is added to the port's first
};
// The `number`th queue pair's: they use the paths in turn.
inline LidWay lid_way(std::uint32_t number, std::uint8_t own_lmc, std::uint16_t lid,
                      std::uint8_t lmc) {
  return {static_cast<std::uint16_t>(lid + number % (1u << lmc)),
          static_cast<std::uint8_t>(number % (1u << own_lmc))};
}

struct Address {
  bool is_global;  // packets carry GIDs
  LidWay way;      // nothing on RoCE
};
// Of the `number`th queue pair between these ports. Ours beside NCCL's: a port may want GIDs in its
// subnet, too (IBV_QPF_GRH_REQUIRED), and several LIDs are used.
inline Address address_of(const QueuePairFacts& own, const QueuePairFacts& peer,
                          std::uint32_t number) {
  if (own.link_layer == abi::kEthernet) return {true, {}};
  if (subnet_of(own.gid) != subnet_of(peer.gid)) {
    const std::uint16_t flid = flid_of(peer.gid);
    return {true, {flid != 0 ? flid : peer.lid, 0}};
  }
  const bool wanted = ((own.port_flags | peer.port_flags) & abi::kGrhRequired) != 0;
  return {wanted, lid_way(number, own.lmc, peer.lid, peer.lmc)};
}

}  // namespace railgauge::ib
