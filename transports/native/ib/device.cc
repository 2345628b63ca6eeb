// SPDX-License-Identifier: Apache-2.0
#include "transports/native/ib/device.h"

#include <arpa/inet.h>
#include <endian.h>

#include <cstdio>

namespace railgauge::ib {

namespace {

// The library's list of devices, as long as it is looked at.
class List {
 public:
  List() : devices_(Verbs::get().get_device_list(&count_)) {
    if (!devices_) throw verbs_error("listing RDMA devices", errno);
  }
  ~List() { Verbs::get().free_device_list(devices_); }
  List(const List&) = delete;
  List& operator=(const List&) = delete;
  abi::Device** begin() const { return devices_; }
  abi::Device** end() const { return devices_ + count_; }

 private:
  int count_ = 0;
  abi::Device** devices_;
};

std::string guid_text(std::uint64_t in_network_order) {
  const std::uint64_t guid = be64toh(in_network_order);
  char text[20];
  std::snprintf(text, sizeof text, "%04x:%04x:%04x:%04x", static_cast<unsigned>(guid >> 48),
                static_cast<unsigned>(guid >> 32 & 0xffff),
                static_cast<unsigned>(guid >> 16 & 0xffff), static_cast<unsigned>(guid & 0xffff));
  return text;
}

const char* link_layer_text(std::uint8_t link_layer) {
  if (link_layer == abi::kInfiniBand) return "InfiniBand";
  return link_layer == abi::kEthernet ? "Ethernet" : "unspecified";
}

void read_ports(DeviceRecord& record) {
  const Device device(record.name);
  const int count = device.attributes().phys_port_cnt;
  for (int number = 1; number <= count; ++number) {
    const abi::PortAttr port = device.port(number);
    record.ports.push_back({number, port.state, link_layer_text(port.link_layer), port.lid,
                            port.lmc, mtu_bytes(port.active_mtu), port.active_speed,
                            port.active_width});
  }
}

}  // namespace

std::vector<DeviceRecord> devices() {
  const Verbs& verbs = Verbs::get();
  std::vector<DeviceRecord> records;
  for (abi::Device* device : List()) {
    DeviceRecord record;
    record.name = verbs.get_device_name(device);
    record.node_guid = guid_text(verbs.get_device_guid(device));
    try {
      read_ports(record);
    } catch (const Error& error) {
      record.problem = error.what();
    }
    records.push_back(std::move(record));
  }
  return records;
}

Device::Device(const std::string& name) : name_(name), context_(nullptr) {
  const Verbs& verbs = Verbs::get();
  std::string names;
  for (abi::Device* device : List()) {
    const std::string found = verbs.get_device_name(device);
    names += (names.empty() ? "" : ", ") + found;
    if (found != name) continue;
    context_ = verbs.open_device(device);
    if (!context_) {
      throw verbs_error(
          "opening " + name + " (does /dev/infiniband exist, and is it accessible to this user?)",
          errno);
    }
    return;
  }
  throw Error(ErrorCode::kSystem,
              "no RDMA device " + name + " here; devices: " + (names.empty() ? "none" : names));
}

Device::~Device() { Verbs::get().close_device(context_); }

abi::DeviceAttr Device::attributes() const {
  abi::DeviceAttr attributes{};
  if (int error = Verbs::get().query_device(context_, &attributes)) {
    throw verbs_error("asking " + name_ + " what it can", error);
  }
  return attributes;
}

abi::PortAttr Device::port(int number) const {
  abi::PortAttr port{};
  if (int error = Verbs::get().query_port(context_, static_cast<std::uint8_t>(number), &port)) {
    throw verbs_error(name_ + " has no port " + std::to_string(number), error);
  }
  return port;
}

abi::Gid Device::gid(int port, int index) const {
  abi::Gid gid{};
  if (Verbs::get().query_gid(context_, static_cast<std::uint8_t>(port), index, &gid)) {
    throw verbs_error(name_ + ":" + std::to_string(port) + " has no GID at index " +
                          std::to_string(index) + " (NCCL_IB_GID_INDEX)",
                      errno);
  }
  return gid;
}

std::uint16_t Device::pkey(int port, int index) const {
  std::uint16_t in_network_order = 0;
  if (Verbs::get().query_pkey(context_, static_cast<std::uint8_t>(port), index,
                              &in_network_order)) {
    throw verbs_error(name_ + ":" + std::to_string(port) + " has no partition key at index " +
                          std::to_string(index) + " (NCCL_IB_PKEY)",
                      errno);
  }
  return ntohs(in_network_order);
}

}  // namespace railgauge::ib
