// SPDX-License-Identifier: Apache-2.0
// RDMA devices as libibverbs lists them: what they are, and one of them opened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transports/native/ib/verbs.h"

namespace railgauge::ib {

// One port, as ibv_query_port(3) reports it; numbers are those of its enums.
struct PortRecord {
  int number;
  int state;               // 4: active
  std::string link_layer;  // "InfiniBand", "Ethernet", "unspecified"
  int lid, lmc;
  int active_mtu;  // bytes
  int active_speed, active_width;
};

struct DeviceRecord {
  std::string name;
  std::string node_guid;  // "0002:c903:0000:1234"
  std::vector<PortRecord> ports;
  std::string problem;  // why it cannot be opened or queried; empty if it can
};

// All devices, in the library's order. Throws Error(kSystem) without a usable library.
std::vector<DeviceRecord> devices();

// An opened device.
class Device {
 public:
  // Throws Error(kSystem), listing the devices if it is not one of them.
  explicit Device(const std::string& name);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; }
  abi::Context* context() const { return context_; }
  abi::DeviceAttr attributes() const;
  abi::PortAttr port(int number) const;
  abi::Gid gid(int port, int index) const;
  std::uint16_t pkey(int port, int index) const;

 private:
  std::string name_;
  abi::Context* context_;
};

// Of an MTU's number in enum ibv_mtu, in bytes.
inline int mtu_bytes(int number) { return number > 0 ? 128 << number : 0; }

}  // namespace railgauge::ib
