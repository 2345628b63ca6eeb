// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "transports/native/fault.h"
#include "transports/native/shm/board.h"
#include "transports/native/shm/connection.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace railgauge {

void bind_shm(nb::module_& m) {
  nb::class_<Connection>(m, "Connection", "One end of a one-way FIFO between two ranks.")
      .def_prop_ro("via", &Connection::via)
      .def_prop_ro("peer", &Connection::peer)
      .def_prop_ro("bytes", &Connection::bytes, "bytes that this end has moved");
  nb::class_<Sender, Connection>(m, "Sender");
  nb::class_<Receiver, Connection>(m, "Receiver");

  nb::class_<shm::ShmReceiver, Receiver>(m, "ShmReceiver")
      .def(nb::init<int, std::shared_ptr<Doorbell>, std::uint32_t, std::uint32_t>(), "peer"_a,
           "peer_doorbell"_a, "slots"_a, "slot_bytes"_a)
      .def_prop_ro("descriptor", &shm::ShmReceiver::descriptor);
  nb::class_<shm::ShmSender, Sender>(m, "ShmSender")
      .def(
          "__init__",
          [](shm::ShmSender* self, int peer, std::shared_ptr<Doorbell> doorbell,
             const std::string& descriptor) {
            new (self) shm::ShmSender(peer, std::move(doorbell), shm::Segment::open(descriptor));
          },
          "peer"_a, "peer_doorbell"_a, "descriptor"_a);

  nb::class_<shm::Board>(m, "Board", "Where the ranks of a host show each other data.")
      .def(nb::init<std::size_t>(), "place_bytes"_a)
      .def_prop_ro("descriptor", &shm::Board::descriptor)
      .def(
          "open",
          [](shm::Board& self,
             const std::vector<std::tuple<int, int, std::string, std::shared_ptr<Doorbell>>>&
                 peers) {
            std::vector<shm::Board::Peer> all;
            for (const auto& [rank, world_rank, segment, doorbell] : peers) {
              all.push_back({rank, world_rank, segment, doorbell});
            }
            self.open(all);
          },
          "peers"_a,
          nb::sig("def open(self, peers: list[tuple[int, int, str, Doorbell | None]]) -> None"),
          "Map the others' boards: (rank, rank in the job, descriptor, doorbell) of all; \"\" and "
          "None for "
          "the own.")
      .def_prop_ro("bytes", &shm::Board::bytes, "bytes that this rank has shown");

  nb::class_<FaultySender, Sender>(m, "FaultySender")
      .def(
          "__init__",
          [](FaultySender* self, std::shared_ptr<Sender> sender, const std::string& kind,
             std::uint64_t message, double seconds) {
            Fault fault;
            fault.kind = kind == "stall" ? Fault::Kind::kStall : Fault::Kind::kFlip;
            fault.message = message;
            fault.stall = std::chrono::milliseconds(static_cast<long>(seconds * 1000));
            new (self) FaultySender(std::move(sender), fault);
          },
          "sender"_a, "kind"_a, "message"_a, "seconds"_a)
      .def("arm", &FaultySender::arm, "Count messages from here on.")
      .def_prop_ro("fired", &FaultySender::fired, "whether the fault has come");
}

}  // namespace railgauge
