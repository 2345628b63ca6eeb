// SPDX-License-Identifier: Apache-2.0
// A rail: one port of an opened device, with what all queue pairs on it share.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transports/native/ib/device.h"

namespace railgauge::ib {

// NCCL's settings for all devices; the defaults are NCCL's.
struct RailSettings {
  int traffic_class = 0;  // NCCL_IB_TC
  int service_level = 0;  // NCCL_IB_SL
  int timeout = 20;       // NCCL_IB_TIMEOUT: 4.096 us x 2^timeout (IBTA 9.9.2.1.1)
  int retry_count = 7;    // NCCL_IB_RETRY_CNT
  int pkey_index = 0;     // NCCL_IB_PKEY
  bool relaxed_ordering = false;
  // Messages of more bytes are followed by an empty one that carries the immediate, as the network
  // may deliver their packets in any order (NCCL_IB_AR_THRESHOLD); -1: none is.
  std::int64_t adaptive_threshold = -1;
  bool modify_retries_all = false;  // NCCL_IB_MQP_RETRY_ALL: also after other errors than ETIMEDOUT
  int modify_retries = 34;          // NCCL_IB_MQP_RETRY_CNT, of ibv_modify_qp
  std::chrono::milliseconds modify_pause{100};  // NCCL_IB_MQP_RETRY_SLEEP_MSEC, longer each time
};

class Rail {
 public:
  // `gid_index` on Ethernet names the GID that packets come from; on InfiniBand it is used between
  // subnets only, and -1 stands for index 0. Throws Error(kSystem) for a port that is down or an
  // empty GID, Error(kInvalid) for an invalid setting, including an empty partition key.
  Rail(const std::string& device, int port, int gid_index, const RailSettings& settings);
  ~Rail();
  Rail(const Rail&) = delete;
  Rail& operator=(const Rail&) = delete;

  const std::string& name() const { return name_; }  // "mlx5_0:1"
  const Device& device() const { return device_; }
  abi::Context* context() const { return device_.context(); }
  abi::Pd* pd() const { return pd_; }
  int port() const { return port_; }
  int gid_index() const { return gid_index_; }
  std::uint16_t pkey() const { return pkey_; }
  const abi::Gid& gid() const { return gid_; }
  const abi::PortAttr& attributes() const { return attributes_; }
  const RailSettings& settings() const { return settings_; }
  bool ethernet() const { return attributes_.link_layer == abi::kEthernet; }

 private:
  RailSettings settings_;
  int port_, gid_index_;
  Device device_;
  std::string name_;
  abi::PortAttr attributes_;
  abi::Gid gid_;
  std::uint16_t pkey_;
  abi::Pd* pd_;
};

using Rails = std::vector<std::shared_ptr<Rail>>;

// "::ffff:10.77.0.1", as a GID is written.
std::string gid_text(const abi::Gid& gid);

}  // namespace railgauge::ib
