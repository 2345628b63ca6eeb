// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "transports/native/bindings/proxy.h"
#include "transports/native/ib/connection.h"
#include "transports/native/ib/device.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace railgauge {

namespace {

using ib::DeviceRecord;
using ib::PortRecord;
using ib::Proxy;
using ib::Rail;

nb::list attributes_of(const ib::Link& link) {
  nb::list all;
  for (const ib::QueuePairAttributes& one : link.attributes()) {
    nb::dict entry;
    entry["rail"] = one.rail;
    entry["qpn"] = one.qpn;
    entry["state"] = one.state;
    entry["path_mtu"] = one.path_mtu;
    entry["timeout"] = one.timeout;
    entry["retry_count"] = one.retry_count;
    entry["service_level"] = one.service_level;
    entry["traffic_class"] = one.traffic_class;
    entry["gid_index"] = one.gid_index;
    entry["pkey_index"] = one.pkey_index;
    entry["is_global"] = one.is_global;
    entry["dlid"] = one.dlid;
    entry["inline_bytes"] = one.inline_bytes;
    all.append(entry);
  }
  return all;
}

template <typename Kind, typename Base>
nb::class_<Kind, Base> bind_end(nb::module_& m, const char* name) {
  nb::class_<Kind, Base> bound(m, name);
  bound
      .def(
          "__init__",
          [](Kind* self, std::shared_ptr<Proxy> proxy, const ib::Rails& rails, int peer,
             std::string address, std::string via, std::uint32_t slots, std::uint32_t slot_bytes,
             int queue_pairs, bool split) {
            new (self) Kind(
                std::move(proxy), rails,
                {peer, std::move(address), std::move(via), slots, slot_bytes, queue_pairs, split});
          },
          "proxy"_a, "rails"_a, "peer"_a, "address"_a, "via"_a, "slots"_a, "slot_bytes"_a,
          "queue_pairs"_a, "split"_a)
      .def_prop_ro(
          "facts",
          [](const Kind& self) {
            const std::string facts = self.link().facts();
            return nb::bytes(facts.data(), facts.size());
          },
          "what the peer's end needs for connect()")
      .def(
          "connect",
          [](Kind& self, const nb::bytes& peer_facts) {
            const std::string facts(peer_facts.c_str(), peer_facts.size());
            const nb::gil_scoped_release meanwhile;
            self.connect(facts);
          },
          "peer_facts"_a, "Bring the queue pairs up; messages can flow from then on.")
      .def(
          "attributes", [](const Kind& self) { return attributes_of(self.link()); },
          nb::sig("def attributes(self) -> list[dict[str, int | str | bool]]"),
          "The attributes of each queue pair, from the device (ibv_query_qp).");
  return bound;
}

}  // namespace

void bind_ib(nb::module_& m) {
  nb::class_<PortRecord>(m, "VerbsPort", "One port of an RDMA device.")
      .def_ro("number", &PortRecord::number)
      .def_ro("state", &PortRecord::state, "4: active (enum ibv_port_state)")
      .def_ro("link_layer", &PortRecord::link_layer, "InfiniBand, Ethernet or unspecified")
      .def_ro("lid", &PortRecord::lid)
      .def_ro("lmc", &PortRecord::lmc)
      .def_ro("active_mtu", &PortRecord::active_mtu, "bytes")
      .def_ro("active_speed", &PortRecord::active_speed, "as in IBTA's PortInfo")
      .def_ro("active_width", &PortRecord::active_width, "as in IBTA's PortInfo");
  nb::class_<DeviceRecord>(m, "VerbsDevice", "An RDMA device as libibverbs lists it.")
      .def_ro("name", &DeviceRecord::name)
      .def_ro("node_guid", &DeviceRecord::node_guid)
      .def_ro("ports", &DeviceRecord::ports)
      .def_ro("problem", &DeviceRecord::problem, "why it cannot be opened; empty if it can");
  m.def("verbs_devices", &ib::devices, nb::call_guard<nb::gil_scoped_release>(),
        "The RDMA devices, in libibverbs' order. UnavailableError without a usable library.");
  m.def(
      "ib_memory_bytes",
      [](std::uint32_t slots, std::uint32_t slot_bytes) {
        return ib::SlotLayout{slots, slot_bytes}.bytes();
      },
      "slots"_a, "slot_bytes"_a,
      "The memory that each end of a connection registers with its devices.");
  nb::class_<Rail>(m, "IbRail", "One port of an RDMA device, opened.")
      .def(
          "__init__",
          [](Rail* self, const std::string& device, int port, int gid_index, int traffic_class,
             int service_level, int timeout, int retry_count, int pkey_index, bool relaxed_ordering,
             std::int64_t adaptive_threshold, bool modify_retries_all, int modify_retries,
             int modify_pause_ms) {
            new (self) Rail(device, port, gid_index,
                            {traffic_class, service_level, timeout, retry_count, pkey_index,
                             relaxed_ordering, adaptive_threshold, modify_retries_all,
                             modify_retries, std::chrono::milliseconds(modify_pause_ms)});
          },
          "device"_a, "port"_a, "gid_index"_a, nb::kw_only(), "traffic_class"_a = 0,
          "service_level"_a = 0, "timeout"_a = 20, "retry_count"_a = 7, "pkey_index"_a = 0,
          "relaxed_ordering"_a = false, "adaptive_threshold"_a = -1, "modify_retries_all"_a = false,
          "modify_retries"_a = 34, "modify_pause_ms"_a = 100)
      .def_prop_ro("name", &Rail::name)
      .def_prop_ro("gid", [](const Rail& self) { return ib::gid_text(self.gid()); });
  nb::class_<Proxy>(m, "IbProxy",
                    "Moves the messages of a rank's queue pairs; made before its first operation.")
      .def(nb::new_(&make_proxy<Proxy>), "doorbell"_a, "linger_s"_a)
      .def("abort", &Proxy::abort, "Give up all connections at once, even with messages posted.")
      .def("close", &Proxy::close, nb::call_guard<nb::gil_scoped_release>(),
           "Send what was posted, unless aborted, and end all queue pairs.")
      .def(
          "register",
          [](Proxy& self, std::uintptr_t address, std::size_t bytes, bool remote_write) {
            self.register_memory(reinterpret_cast<const std::byte*>(address), bytes,
                                 remote_write ? ib::abi::kRemoteWrite : 0);
          },
          "address"_a, "bytes"_a, "remote_write"_a = false,
          "Let devices send from that memory, and with `remote_write` write to it, without a copy. "
          "Between "
          "operations; the memory has to stay until it is deregistered as often.")
      .def(
          "deregister",
          [](Proxy& self, std::uintptr_t address, std::size_t bytes) {
            self.deregister_memory(reinterpret_cast<const std::byte*>(address), bytes);
          },
          "address"_a, "bytes"_a);
  bind_end<ib::IbReceiver, Receiver>(m, "IbReceiver")
      .def(
          "expose",
          [](ib::IbReceiver& self, std::uintptr_t address, std::size_t bytes) {
            const std::string facts =
                self.expose(reinterpret_cast<const std::byte*>(address), bytes);
            return nb::bytes(facts.data(), facts.size());
          },
          "address"_a, "bytes"_a,
          "Let the sender put messages into this registered memory: the facts that its "
          "aim() "
          "takes.");
  bind_end<ib::IbSender, Sender>(m, "IbSender")
      .def(
          "aim",
          [](ib::IbSender& self, const nb::bytes& remote_facts) {
            self.aim(std::string(remote_facts.c_str(), remote_facts.size()));
          },
          "remote_facts"_a, "Put messages into that memory of the receiver from now on.");
}

}  // namespace railgauge
