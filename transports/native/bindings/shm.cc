// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "transports/native/fault.h"
#include "transports/native/shm/connection.h"
#include "transports/native/shm/cross_memory.h"
#include "transports/native/shm/memory_left.h"
#include "transports/native/shm/shared_segment.h"

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

  nb::class_<shm::RegisteredMemory>(
      m, "RegisteredMemory", "Memory of each rank that all ranks of the host map, for arrays.")
      .def("make", &shm::RegisteredMemory::make, "size"_a,
           "Start the next registration, with this many bytes of this rank's; their descriptor.")
      .def(
          "open",
          [](shm::RegisteredMemory& self, const std::vector<std::string>& descriptors) {
            std::shared_ptr<shm::Segment> own = self.open(descriptors);
            nb::capsule owner(new std::shared_ptr<shm::Segment>(own), [](void* held) noexcept {
              delete static_cast<std::shared_ptr<shm::Segment>*>(held);
            });
            return nb::ndarray<nb::memview, std::uint8_t>(own->data(), {own->size()}, owner);
          },
          "descriptors"_a, nb::sig("def open(self, descriptors: list[str]) -> memoryview"),
          "Map the others' parts of it, "
          " for the own; this rank's memory.")
      .def("settle", &shm::RegisteredMemory::settle, "All ranks have opened the last registration.")
      .def("drop", &shm::RegisteredMemory::drop,
           "A rank could not make or open the last registration.")
      .def_prop_ro("unused", &shm::RegisteredMemory::unused,
                   "numbers of registrations that nobody here holds")
      .def("release", &shm::RegisteredMemory::release, "numbers"_a,
           "Unmap those that no rank holds.")
      .def("close", &shm::RegisteredMemory::close, "Unmap all but what is held here.")
      .def_prop_ro("bytes", &shm::RegisteredMemory::bytes, "of this rank's registered memory")
      .def_prop_ro("bytes_in_huge_pages", &shm::RegisteredMemory::bytes_in_huge_pages);
  m.def(
      "memory_left", [] { return shm::memory_left(); },
      "How many more bytes of shared memory are available here.");
  m.def("permit_cross_memory", &shm::permit_cross_memory,
        "Let all processes of this user read this one's memory (PR_SET_PTRACER).");

  nb::class_<shm::SharedSegment>(m, "SharedSegment",
                                 "Shared segments through which the ranks of a host exchange data.")
      .def(nb::init<std::size_t>(), "place_bytes"_a)
      .def_prop_ro("descriptor", &shm::SharedSegment::descriptor)
      .def(
          "open",
          [](shm::SharedSegment& self,
             const std::vector<std::tuple<int, int, std::string, std::shared_ptr<Doorbell>>>&
                 peers) {
            std::vector<shm::SharedSegment::Peer> all;
            for (const auto& [rank, world_rank, segment, doorbell] : peers) {
              all.push_back({rank, world_rank, segment, doorbell});
            }
            self.open(all);
          },
          "peers"_a,
          nb::sig("def open(self, peers: list[tuple[int, int, str, Doorbell | None]]) -> None"),
          "Map the others' segments: (rank, rank in the job, descriptor, doorbell) of all; \"\" "
          "and "
          "None for "
          "the own.")
      .def_prop_ro("registered_memory", &shm::SharedSegment::registered_memory,
                   nb::rv_policy::reference_internal)
      .def_prop_ro("reads_peers", &shm::SharedSegment::reads_peers,
                   "whether the kernel lets this rank read all others' memory")
      .def("allow_cross_memory", &shm::SharedSegment::allow_cross_memory,
           "Note that all ranks can do that.")
      .def_prop_ro("cross_memory", &shm::SharedSegment::cross_memory,
                   "whether all ranks can do that")
      .def_prop_ro("bytes", &shm::SharedSegment::bytes, "bytes that this rank has posted");

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
      .def_prop_ro("fired", &FaultySender::fired, "whether the fault has occurred");
}

}  // namespace railgauge
