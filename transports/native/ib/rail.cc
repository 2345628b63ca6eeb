// SPDX-License-Identifier: Apache-2.0
#include "transports/native/ib/rail.h"

#include <arpa/inet.h>

#include <algorithm>
#include <limits>

namespace railgauge::ib {

namespace {

const char* const kStates[] = {"no state", "down", "initialising", "armed", "active", "active"};
constexpr int kAny = std::numeric_limits<int>::max();

void check_range(const char* what, int value, int most) {
  if (value >= 0 && value <= most) return;
  throw Error(ErrorCode::kInvalid, std::string(what) + " is " + std::to_string(value) +
                                       ": it must be from 0 to " + std::to_string(most));
}

const RailSettings& checked(const RailSettings& settings) {
  check_range("a traffic class (NCCL_IB_TC)", settings.traffic_class, 255);
  check_range("a service level (NCCL_IB_SL)", settings.service_level, 15);
  check_range("a timeout (NCCL_IB_TIMEOUT)", settings.timeout, 31);
  check_range("a retry count (NCCL_IB_RETRY_CNT)", settings.retry_count, 7);
  check_range("an index of a partition key (NCCL_IB_PKEY)", settings.pkey_index, 0xffff);
  check_range("a number of retries (NCCL_IB_MQP_RETRY_CNT)", settings.modify_retries, kAny);
  check_range("milliseconds between retries (NCCL_IB_MQP_RETRY_SLEEP_MSEC)",
              static_cast<int>(settings.modify_pause.count()), kAny);
  return settings;
}

bool all_zero(const abi::Gid& gid) {
  return std::all_of(std::begin(gid.raw), std::end(gid.raw), [](auto byte) { return byte == 0; });
}

bool is_empty(std::uint16_t pkey) { return (pkey & 0x7fff) == 0; }  // IBTA 10.9

// "0, 2": the indices of a port's partition keys.
std::string pkey_indices(const Device& device, int port, int count) {
  std::string indices;
  for (int index = 0; index < count; ++index) {
    if (is_empty(device.pkey(port, index))) continue;
    indices += (indices.empty() ? "" : ", ") + std::to_string(index);
  }
  return indices.empty() ? "none" : indices;
}

}  // namespace

Rail::Rail(const std::string& device, int port, int gid_index, const RailSettings& settings)
    : settings_(checked(settings)),
      port_(port),
      gid_index_(std::max(gid_index, 0)),
      device_(device),
      name_(device + ":" + std::to_string(port)),
      attributes_(device_.port(port)),
      gid_(device_.gid(port, gid_index_)) {
  const int state = attributes_.state;
  if (state != abi::kPortActive && state != abi::kPortActiveDefer) {
    throw Error(ErrorCode::kSystem,
                name_ + " is " + kStates[state < 0 || state > 5 ? 0 : state] +
                    ", not active: is the cable connected, and the link up (ibstat)?");
  }
  if (ethernet() && gid_index < 0) {
    throw Error(ErrorCode::kInvalid, name_ + " is RoCE: it needs a GID (NCCL_IB_GID_INDEX)");
  }
  if (ethernet() && all_zero(gid_)) {
    throw Error(ErrorCode::kSystem, name_ + ": GID " + std::to_string(gid_index) +
                                        " is empty: list the GIDs with `railgauge topo show --view "
                                        "rdma` (NCCL_IB_GID_INDEX)");
  }
  if (settings_.pkey_index >= attributes_.pkey_tbl_len) {
    throw Error(ErrorCode::kInvalid, name_ + " has " + std::to_string(attributes_.pkey_tbl_len) +
                                         " partition keys, so there is no index " +
                                         std::to_string(settings_.pkey_index) + " (NCCL_IB_PKEY)");
  }
  pkey_ = device_.pkey(port, settings_.pkey_index);
  if (is_empty(pkey_)) {
    throw Error(ErrorCode::kInvalid, name_ + ": no partition key at index " +
                                         std::to_string(settings_.pkey_index) +
                                         " (NCCL_IB_PKEY), only at " +
                                         pkey_indices(device_, port, attributes_.pkey_tbl_len));
  }
  pd_ = Verbs::get().alloc_pd(context());
  if (!pd_) throw verbs_error(name_ + ": making a protection domain", errno);
}

Rail::~Rail() { Verbs::get().dealloc_pd(pd_); }

std::string gid_text(const abi::Gid& gid) {
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(AF_INET6, gid.raw, text, sizeof text);
}

}  // namespace railgauge::ib
