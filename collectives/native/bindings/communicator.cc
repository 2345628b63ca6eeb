// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/communicator.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>

#include "collectives/native/bindings/array.h"
#include "collectives/native/bindings/call.h"
#include "collectives/native/bindings/python_connector.h"
#include "collectives/native/bindings/waiting_policy.h"
#include "collectives/native/host_engine.h"
#include "transports/native/error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace railgauge {

namespace {

using Input = nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>;
using Output = nb::ndarray<nb::device::cpu, nb::c_contig>;
using Seconds = std::chrono::duration<double>;

Dtype dtype_from(int number) {
  if (number < 0 || number >= kDtypes) throw Error(ErrorCode::kInvalid, "unknown type");
  return static_cast<Dtype>(number);
}

// Runs an operation `ahead` times and then `times` times; returns the seconds that one of the
// latter took. Buffers may overlap in any way: nccl-tests times alltoall in place too.
double run(Communicator& self, int collective, const Input& source, const Output& destination,
           std::size_t count, int dtype, int op, int root, int ahead, int times) {
  if (collective < 0 || collective >= kCollectives || op < 0 || op >= kRedops) {
    throw Error(ErrorCode::kInvalid, "unknown collective or operator");
  }
  const Operation operation{static_cast<Collective>(collective),
                            static_cast<const std::byte*>(source.data()),
                            static_cast<std::byte*>(destination.data()),
                            count,
                            dtype_from(dtype),
                            static_cast<Redop>(op),
                            root};
  check_buffers(operation, self.rank(), self.ranks());
  const std::size_t element = operation.element_bytes();
  const Extent need = operation.extent(self.rank(), self.ranks());
  if (source.nbytes() / element < need.source ||
      destination.nbytes() / element < need.destination) {
    throw Error(ErrorCode::kInvalid, "a buffer is shorter than count");
  }
  nb::gil_scoped_release release;
  for (int i = 0; i < ahead; ++i) self.engine().run(operation);
  auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) self.engine().run(operation);
  return times ? Seconds(std::chrono::steady_clock::now() - before).count() / times : 0;
}

double time_pair(Communicator& self, int peer, int traffic, const Input& source,
                 const Output& destination, std::size_t bytes, int ahead, int times) {
  if (traffic < 0 || traffic >= kTraffics || source.nbytes() < bytes ||
      destination.nbytes() < bytes) {
    throw Error(ErrorCode::kInvalid, "unknown traffic, or a buffer is shorter than a message");
  }
  nb::gil_scoped_release release;
  return self.engine().time_pair(peer, static_cast<ExchangeRole>(traffic),
                                 static_cast<const std::byte*>(source.data()),
                                 static_cast<std::byte*>(destination.data()), bytes, ahead, times);
}

std::pair<std::uintptr_t, std::size_t> place_of(nb::handle array) {
  Array held;
  held.hold(array, "register", false);
  return {reinterpret_cast<std::uintptr_t>(held.data()), held.bytes()};
}

}  // namespace

// The parts of what is packed.
Operation operation_in(const Recorded& self) {
  return operation_of(self.subject).value_or(Operation{});
}

void bind_recorder(nb::module_& m) {
  nb::class_<BlockedOn>(m, "BlockedOn", "Which rank a rank waits for, and where.")
      .def_prop_ro(
          "rank", [](const BlockedOn& self) { return self.rank; }, "-1: nobody")
      .def_prop_ro(
          "frees_slot", [](const BlockedOn& self) { return self.frees_slot != 0; },
          "whether that rank has to free a slot; else it has to send data")
      .def_prop_ro(
          "channel",
          [](const BlockedOn& self) {
            return self.channel == BlockedOn::kBoard ? -1 : static_cast<int>(self.channel);
          },
          "-1: in a shared segment")
      .def_prop_ro(
          "step", [](const BlockedOn& self) { return static_cast<int>(self.step); },
          "steps that the operation has done there before");

  nb::class_<Recorded>(m, "Recorded", "An operation in a rank's record.")
      .def_ro("number", &Recorded::number, "among the communicator's operations, from 1")
      .def_prop_ro(
          "collective",
          [](const Recorded& self) { return static_cast<int>(operation_in(self).collective); })
      .def_prop_ro("count", [](const Recorded& self) { return self.subject.count; })
      .def_prop_ro("dtype",
                   [](const Recorded& self) { return static_cast<int>(operation_in(self).dtype); })
      .def_prop_ro(
          "op",
          [](const Recorded& self) {
            const Operation operation = operation_in(self);
            return operation.reduces() ? static_cast<int>(operation.op) : -1;
          },
          "-1: it reduces nothing")
      .def_prop_ro(
          "root",
          [](const Recorded& self) {
            const Operation operation = operation_in(self);
            return operation.has_root() ? operation.root : -1;
          },
          "-1: none")
      .def_ro("algorithm", &Recorded::algorithm, "-1: a copy, for a single rank")
      .def_ro("channels", &Recorded::channels)
      .def_ro("began_s", &Recorded::began_s, "since 1970; to 10 ms for a short one")
      .def_ro("took_us", &Recorded::took_us, "0: ended without a wait, not timed; -1: not over");
}

void bind_communicator(nb::module_& m) {
  bind_recorder(m);
  m.def("place_of", &place_of, "array"_a,
        "The address and size in bytes of an array in host memory. UsageError for an unsupported "
        "array.");
  nb::class_<Call>(m, "Call",
                   "An operation on a caller's arrays, which are held until this is gone.")
      .def_prop_ro("in_pairs", &Call::in_pairs, "whether it uses pairs");

  nb::class_<Communicator>(m, "Communicator", "One rank's connections, and operations on them.")
      .def(
          "__init__",
          [](Communicator* self, int rank, int ranks, std::shared_ptr<Doorbell> doorbell,
             nb::handle connector, std::vector<std::vector<int>> hosts,
             const std::vector<PythonRing>& rings, const std::vector<PythonTree>& trees, bool cube,
             bool across, bool segments, double timeout_s, bool crowded, std::size_t stream_bytes) {
            const ConnectionPlan plan{std::move(hosts), ring_plans(rings), tree_plans(trees), cube,
                                      across,           segments};
            PythonConnector made_in_python(connector);
            RankConnections connections = connect(rank, ranks, plan, made_in_python);
            const Waiting::Policy waiting =
                waiting_policy(timeout_s, crowded, connections.over_sockets);
            new (self) Communicator(std::make_unique<HostEngine>(
                rank, ranks, std::move(doorbell), std::move(connections),
                HostEngine::Options{waiting, stream_bytes}));
          },
          "rank"_a, "ranks"_a, "doorbell"_a, "connector"_a, "hosts"_a, "rings"_a, "trees"_a,
          "cube"_a, "across"_a, "segments"_a, "timeout_s"_a, "crowded"_a, "stream_bytes"_a,
          "Connect what the plan has; all ranks together. A ring is its ranks in ring order and "
          "the "
          "route of the step to each next one; a tree each rank's parent and the routes up and "
          "down. "
          "`crowded`: more ranks of this host than cores.")
      .def_static(
          "of_pairs",
          [](int rank, int ranks, std::shared_ptr<Doorbell> doorbell, nb::handle connector,
             const std::vector<PythonWire>& wires, double timeout_s, bool crowded) {
            PythonConnector made_in_python(connector);
            RankConnections connections;
            connections.pairs = connect_pairs(rank, ranks, wires_of(wires), made_in_python);
            const Waiting::Policy waiting =
                waiting_policy(timeout_s, crowded, over_sockets(connections.pairs));
            return new Communicator(std::make_unique<HostEngine>(rank, ranks, std::move(doorbell),
                                                                 std::move(connections),
                                                                 HostEngine::Options{waiting, 0}));
          },
          "rank"_a, "ranks"_a, "doorbell"_a, "connector"_a, "wires"_a, "timeout_s"_a, "crowded"_a,
          "One with pairs alone, over these wires: channel, from rank, to rank, route.")
      .def(
          "connect_pairs",
          [](Communicator& self, nb::handle connector) {
            PythonConnector made_in_python(connector);
            self.engine().connect_pairs(made_in_python);
          },
          "connector"_a, "Connect every rank with every other one; all ranks together.")
      .def_prop_ro("has_pairs", [](const Communicator& self) { return self.engine().has_pairs(); })
      .def_prop_ro(
          "is_amid", [](const Communicator& self) { return self.engine().is_amid(); },
          "whether an operation has started and not ended; after an error no rank can go on "
          "then")
      .def(
          "choose",
          [](Communicator& self, int collective,
             const std::vector<std::tuple<std::size_t, int, int, int>>& choices) {
            std::vector<AlgorithmChoice> all;
            for (auto [bytes, algorithm, channels, protocol] : choices) {
              all.push_back({bytes, static_cast<Algorithm>(algorithm), channels,
                             static_cast<Protocol>(protocol)});
            }
            self.engine().choose(static_cast<Collective>(collective), std::move(all));
          },
          "collective"_a, "choices"_a,
          "How to run a collective: (maximum bytes, algorithm, maximum channels, protocol), the "
          "last "
          "one for all larger sizes.")
      .def(
          "zero_copy",
          [](Communicator& self, int collective, std::size_t registered_from,
             std::size_t cross_memory_from, std::size_t cross_memory_below) {
            self.engine().zero_copy(static_cast<Collective>(collective),
                                    {registered_from, cross_memory_from, cross_memory_below});
          },
          "collective"_a, "registered_from"_a, "cross_memory_from"_a, "cross_memory_below"_a,
          "Of how many bytes a collective is run on the arrays themselves: where all it needs lies "
          "in registered memory, and where some of it does not.")
      .def(
          "choice",
          [](const Communicator& self, int collective, std::size_t count, int dtype) {
            AlgorithmChoice choice =
                self.engine().choice({static_cast<Collective>(collective), nullptr, nullptr, count,
                                      dtype_from(dtype), Redop::kSum, 0});
            return std::make_tuple(static_cast<int>(choice.algorithm), choice.channels,
                                   static_cast<int>(choice.protocol));
          },
          "collective"_a, "count"_a, "dtype"_a,
          "(algorithm, channels, protocol) for that many elements")
      .def(
          "prepare",
          [](const Communicator& self, int collective, nb::handle source, nb::handle destination,
             int op,
             int root) { return new Call(self, collective, source, destination, op, root); },
          "collective"_a, "source"_a.none(), "destination"_a.none(), "op"_a, "root"_a,
          "Check the arrays of an operation; UsageError if they do not match.")
      .def(
          "prepare_scaled",
          [](const Communicator& self, int collective, nb::handle source, nb::handle destination,
             double factor,
             int root) { return new Call(self, collective, source, destination, factor, root); },
          "collective"_a, "source"_a.none(), "destination"_a.none(), "factor"_a, "root"_a,
          "The same for the sum of each rank's source times its own factor.")
      .def(
          "prepare_all_to_all_v",
          [](const Communicator& self, nb::handle source, const Call::Counts& to,
             nb::handle destination,
             const Call::Counts& from) { return new Call(self, source, to, destination, from); },
          "source"_a.none(), "to"_a, "destination"_a.none(), "from_"_a,
          "The same for an all-to-all with these numbers of elements for, and from, each rank.")
      .def(
          "prepare_barrier", [](const Communicator&) { return new Call; },
          "An operation that ends when every rank is in it.")
      .def(
          "execute", [](Communicator& self, Call& call) { call.run(self); }, "call"_a,
          "Run a prepared operation to its end.")
      .def(
          "call",
          [](Communicator& self, int collective, nb::handle source, nb::handle destination, int op,
             int root) {
            Call call(self, collective, source, destination, op, root);
            if (call.in_pairs() && !self.engine().has_pairs()) return false;
            call.run(self);
            return true;
          },
          "collective"_a, "source"_a.none(), "destination"_a.none(), "op"_a, "root"_a,
          "Prepare and execute; False, and nothing was run, where it needs pairs and there are "
          "none.")
      .def("run", &run, "collective"_a, "source"_a, "destination"_a, "count"_a, "dtype"_a, "op"_a,
           "root"_a, "ahead"_a = 0, "times"_a = 1,
           "Run it `ahead` times, then `times` times; return the seconds that one of the latter "
           "took.")
      .def("time_pair", &time_pair, "peer"_a, "traffic"_a, "source"_a, "destination"_a, "bytes"_a,
           "ahead"_a = 0, "times"_a = 1,
           "Exchange messages with one rank, `ahead` and then `times`; return the seconds that one "
           "of the latter took.")
      .def_prop_ro(
          "operations",
          [](const Communicator& self) { return self.engine().recorder().snapshot(); },
          "its last operations, the oldest first; the last one may be running; for any thread")
      .def_prop_ro(
          "blocked_on", [](const Communicator& self) { return self.engine().blocked_on(); },
          "the rank that this one waits for, or waited for when it failed; for any thread");
}

}  // namespace railgauge
