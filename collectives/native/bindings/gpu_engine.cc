// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "collectives/native/bindings/gpu_call.h"
#include "collectives/native/bindings/operation.h"
#include "collectives/native/bindings/without_lock.h"
#include "collectives/native/gpu/engine.h"
#include "transports/native/cuda/mark.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace railgauge {

namespace {

using gpu::Engine;

gpu::Lent read_lent(const nb::bytes& bytes) {
  gpu::LentFacts facts;
  const std::size_t rest = bytes.size() - sizeof facts;
  if (bytes.size() < sizeof facts || rest % sizeof(gpu::FabricPiece))
    throw Error(ErrorCode::kInvalid, "invalid description of a GPU engine's memory");
  std::memcpy(&facts, bytes.c_str(), sizeof facts);
  facts.bus_id[sizeof facts.bus_id - 1] = facts.shared[sizeof facts.shared - 1] = 0;
  gpu::Lent lent{facts, std::vector<gpu::FabricPiece>(rest / sizeof(gpu::FabricPiece))};
  if (rest) std::memcpy(lent.fabric.data(), bytes.c_str() + sizeof facts, rest);
  return lent;
}

template <class T>
nb::bytes as_bytes(const T* data, std::size_t count) {
  return nb::bytes(reinterpret_cast<const char*>(data), count * sizeof(T));
}

// By rank, and once what all of other hosts need besides.
std::vector<nb::bytes> told(const std::vector<gpu::Lent>& all) {
  std::vector<nb::bytes> bytes;
  std::vector<gpu::FabricPiece> fabric;
  for (const gpu::Lent& lent : all) {
    const gpu::LentFacts facts = lent;
    bytes.push_back(as_bytes(&facts, 1));
    if (fabric.empty()) fabric = lent.fabric;
  }
  bytes.push_back(as_bytes(fabric.data(), fabric.size()));
  return bytes;
}

std::vector<gpu::Lent> read_all_lent(const std::vector<nb::bytes>& lent) {
  std::vector<gpu::Lent> read;
  for (const nb::bytes& one : lent) read.push_back(read_lent(one));
  return read;
}

gpu::Via read_via(int number) {
  if (number < 0 || number >= gpu::kVias)
    throw Error(ErrorCode::kInvalid, "unknown path to a rank");
  return static_cast<gpu::Via>(number);
}

gpu::Way read_way(int number) {
  if (number < 0 || number >= gpu::kWays) throw Error(ErrorCode::kInvalid, "unknown launch");
  return static_cast<gpu::Way>(number);
}

gpu::StagingBuffers& net_buffers(Engine& engine, int rank) {
  if (rank < 0 || rank >= engine.ranks() || engine.buffers().via(rank) != gpu::Via::kNet)
    throw Error(ErrorCode::kInvalid, "only a rank on another node has slots of its own");
  return engine.buffers();
}

// A way below 0: the one that is due.
gpu::Choice read_choice(const Engine& engine, const Operation& operation, int way, unsigned blocks,
                        std::uint32_t chunk_bytes) {
  if (way < 0) return engine.choices().due(operation);
  return {read_way(way), blocks, chunk_bytes};
}

}  // namespace

void bind_gpu_engine(nb::module_& m) {
  nb::class_<Engine>(m, "GpuEngine", "Collectives between GPUs, one rank's end.")
      .def(
          nb::new_([](int device, int rank, const std::vector<int>& via,
                      std::tuple<unsigned, unsigned, unsigned, unsigned> layout, double timeout_s,
                      const std::vector<int>& numbers, int handle_types, bool nvls) {
            std::vector<gpu::Via> read;
            for (int one : via) read.push_back(read_via(one));
            const auto [blocks, slot_bytes, line_blocks, full_lines] = layout;
            return without_lock<Engine>(device, rank,
                                        gpu::Layout{blocks, slot_bytes, line_blocks, full_lines},
                                        read, timeout_s, numbers, handle_types, nvls);
          }),
          "device"_a, "rank"_a, "via"_a, "layout"_a, "timeout_s"_a,
          "numbers"_a = std::vector<int>(), "handle_types"_a = 0, "nvls"_a = false,
          "`layout`: blocks, bytes of a slot, blocks of lines, full lines. `numbers`: by rank, its "
          "number in errors. `handle_types`: of memory for these are its staging buffers. "
          "`nvls`: with the kernels that add up on NVSwitches.")
      .def(
          "lend", [](Engine& engine) { return told(engine.lend()); },
          "What each rank needs to write into its staging buffer here, by rank; one more: what "
          "those of other hosts need besides, behind theirs.")
      .def_prop_ro("processors", &Engine::processors)
      .def(
          "connect",
          [](Engine& engine, const std::vector<nb::bytes>& lent,
             const std::vector<int>& processors) {
            const std::vector<gpu::Lent> read = read_all_lent(lent);
            nb::gil_scoped_release release;
            engine.connect(read, processors);
          },
          "lent"_a, "processors"_a, "Both by rank.")
      .def_prop_ro(
          "can_register", [](Engine& engine) { return engine.registered_memory().allowed(); },
          "Whether memory can be registered: all GPUs map each other's.")
      .def(
          "lend_memory",
          [](Engine& engine, std::uintptr_t pointer, std::size_t bytes) {
            return told(engine.registered_memory().lend(reinterpret_cast<const std::byte*>(pointer),
                                                        bytes));
          },
          "pointer"_a, "bytes"_a, "What each rank needs to open this GPU's memory, as in `lend`.")
      .def(
          "withdraw_memory", [](Engine& engine) { engine.registered_memory().withdraw(); },
          "In place of open_memory, where a rank could not lend its memory.")
      .def(
          "open_memory",
          [](Engine& engine, std::uintptr_t pointer, std::size_t bytes, bool symmetric,
             const std::vector<nb::bytes>& lent) {
            const std::vector<gpu::Lent> read = read_all_lent(lent);
            nb::gil_scoped_release release;
            return engine.registered_memory().open(reinterpret_cast<const std::byte*>(pointer),
                                                   bytes, symmetric, read);
          },
          "pointer"_a, "bytes"_a, "symmetric"_a, "lent"_a,
          "Register memory, all ranks in one order; the number of the registration.")
      .def(
          "offer_multicast",
          [](Engine& engine, int registration) {
            const gpu::Lent offered = [&] {
              nb::gil_scoped_release release;
              return engine.registered_memory().offer_multicast(registration);
            }();
            return told({offered})[0];
          },
          "registration"_a,
          "The first of three steps of all ranks to a multicast address of symmetric memory: what "
          "each rank needs from this one.")
      .def(
          "join_multicast",
          [](Engine& engine, int registration, const std::vector<nb::bytes>& offered) {
            const std::vector<gpu::Lent> read = read_all_lent(offered);
            nb::gil_scoped_release release;
            engine.registered_memory().join_multicast(registration, read);
          },
          "registration"_a, "offered"_a, "The second step.")
      .def(
          "bind_multicast",
          [](Engine& engine, int registration) {
            nb::gil_scoped_release release;
            engine.registered_memory().bind_multicast(registration);
          },
          "registration"_a, "The third, once the second has succeeded on all ranks.")
      .def(
          "close_memory",
          [](Engine& engine, int registration) {
            nb::gil_scoped_release release;
            engine.registered_memory().close(registration);
          },
          "registration"_a)
      .def(
          "slots",
          [](Engine& engine, int rank, bool incoming) {
            gpu::StagingBuffers& buffers = net_buffers(engine, rank);
            return std::tuple(reinterpret_cast<std::uintptr_t>(buffers.slots(rank, incoming)),
                              buffers.slots_bytes());
          },
          "rank"_a, "incoming"_a,
          "Address and bytes of the slots of what comes from a rank on another node, or leaves for "
          "it.")
      .def(
          "move_slots",
          [](Engine& engine, int rank, bool incoming, bool to_gpu) {
            nb::gil_scoped_release release;
            net_buffers(engine, rank).move_slots(rank, incoming, to_gpu);
          },
          "rank"_a, "incoming"_a, "to_gpu"_a,
          "Move them into the GPU's memory, or back to the host's.")
      .def("carry", &Engine::carry, "proxy"_a, "rank"_a, "to"_a, "from_"_a,
           "flush"_a.none() = nb::none())
      .def("start", &Engine::start, "doorbells"_a)
      .def("stop", &Engine::stop, nb::call_guard<nb::gil_scoped_release>(),
           "Stop the proxy; after the last operation of all ranks.")
      .def(
          "channels",
          [](Engine& engine, std::vector<std::pair<std::vector<int>, std::vector<int>>> planned) {
            std::vector<gpu::PlannedChannel> read;
            for (auto& [ring, parents] : planned) read.push_back({ring, parents});
            nb::gil_scoped_release release;
            engine.channels(read);
          },
          "planned"_a, "The ring of each channel, and by rank its parent in the tree.")
      .def(
          "run",
          [](Engine& engine, int collective, std::uintptr_t source, std::uintptr_t destination,
             std::size_t count, int dtype, int op, int root, std::uintptr_t stream, int way,
             unsigned blocks, std::uint32_t chunk_bytes) {
            const Operation operation =
                read_operation(collective, source, destination, count, dtype, op, root);
            const gpu::Choice choice = read_choice(engine, operation, way, blocks, chunk_bytes);
            nb::gil_scoped_release release;  // a full stream makes its caller wait
            engine.run(operation, reinterpret_cast<cuda::Stream>(stream), choice);
          },
          "collective"_a, "source"_a, "destination"_a, "count"_a, "dtype"_a, "op"_a, "root"_a,
          "stream"_a, "way"_a = -1, "blocks"_a = 0, "chunk_bytes"_a = 0)
      .def(
          "call", &call_on_gpu, "collective"_a, "source"_a.none(), "destination"_a.none(), "op"_a,
          "root"_a,
          "Run it on tensors that DLPack's C exchange API reads, on their library's stream; False, "
          "and nothing was done, where they are none or do not fit.")
      .def("call_aside", &call_on_gpu_aside, "collective"_a, "source"_a.none(),
           "destination"_a.none(), "op"_a, "root"_a, "aside"_a,
           "The same on the stream `aside`, after all that is on their library's so far; None, and "
           "nothing was done, or a mark behind it.")
      .def(
          "run_parts",
          [](Engine& engine, std::uintptr_t source, const std::vector<std::size_t>& to,
             std::uintptr_t destination, const std::vector<std::size_t>& from, int dtype,
             std::uintptr_t stream) {
            if (dtype < 0 || dtype >= kDtypes) throw Error(ErrorCode::kInvalid, "unknown dtype");
            nb::gil_scoped_release release;
            engine.run_parts(reinterpret_cast<const std::byte*>(source), to,
                             reinterpret_cast<std::byte*>(destination), from,
                             static_cast<Dtype>(dtype), reinterpret_cast<cuda::Stream>(stream));
          },
          "source"_a, "to"_a, "destination"_a, "from_"_a, "dtype"_a, "stream"_a)
      .def(
          "run_scaled",
          [](Engine& engine, int collective, std::uintptr_t source, std::uintptr_t destination,
             std::size_t count, int dtype, double factor, int root, std::uintptr_t stream) {
            const Operation operation =
                read_operation(collective, source, destination, count, dtype, 0, root);
            nb::gil_scoped_release release;
            engine.run_scaled(operation, factor, reinterpret_cast<cuda::Stream>(stream));
          },
          "collective"_a, "source"_a, "destination"_a, "count"_a, "dtype"_a, "factor"_a, "root"_a,
          "stream"_a, "A sum of elements that are multiplied first.")
      .def(
          "run_messages",
          [](Engine& engine,
             const std::vector<std::tuple<bool, int, std::uintptr_t, std::size_t, std::uint32_t>>&
                 messages,
             std::uintptr_t stream) {
            std::vector<gpu::GpuMessage> read;
            for (const auto& [sends, peer, pointer, bytes, tag] : messages)
              read.push_back({sends, peer, reinterpret_cast<std::byte*>(pointer), bytes, tag});
            nb::gil_scoped_release release;
            engine.run_messages(read, reinterpret_cast<cuda::Stream>(stream));
          },
          "messages"_a, "stream"_a,
          "Sends (True) and receives, all at once: each with its peer, address, bytes and tag.")
      .def(
          "repeat",
          [](Engine& engine, int collective, std::uintptr_t source, std::uintptr_t destination,
             std::size_t count, int dtype, int op, int root, int ahead, int times, int replays,
             int way, unsigned blocks, std::uint32_t chunk_bytes) {
            const Operation operation =
                read_operation(collective, source, destination, count, dtype, op, root);
            const gpu::Choice choice = read_choice(engine, operation, way, blocks, chunk_bytes);
            nb::gil_scoped_release release;
            return engine.repeat(operation, choice, ahead, times, replays);
          },
          "collective"_a, "source"_a, "destination"_a, "count"_a, "dtype"_a, "op"_a, "root"_a,
          "ahead"_a, "times"_a, "replays"_a = 0, "way"_a = -1, "blocks"_a = 0, "chunk_bytes"_a = 0)
      .def(
          "choose",
          [](Engine& engine, int collective,
             const std::vector<std::tuple<std::size_t, int, unsigned, std::uint32_t>>& choices) {
            std::vector<gpu::ChoiceUpTo> read;
            for (const auto& [bytes, way, blocks, chunk_bytes] : choices) {
              read.push_back({bytes, {read_way(way), blocks, chunk_bytes}});
            }
            engine.choices().choose(read_operation(collective, 0, 0, 0, 0, 0, 0).collective,
                                    std::move(read));
          },
          "collective"_a, "choices"_a,
          "By growing length: up to how many bytes, way, blocks, bytes of a chunk.")
      .def(
          "way",
          [](const Engine& engine, int collective, std::size_t count, int dtype,
             std::uintptr_t source, std::uintptr_t destination) {
            const Operation operation =
                read_operation(collective, source, destination, count, dtype, 0, 0);
            return static_cast<int>(engine.choices().due(operation).way);
          },
          "collective"_a, "count"_a, "dtype"_a, "source"_a = 0, "destination"_a = 0,
          "The launch that the engine chooses; without arrays, as for unregistered ones.")
      .def(
          "can",
          [](const Engine& engine, int collective, std::size_t count, int dtype, int way) {
            if (way < 0 || way >= gpu::kWays) return false;
            return engine.choices().can(read_operation(collective, 0, 0, count, dtype, 0, 0),
                                        static_cast<gpu::Way>(way));
          },
          "collective"_a, "count"_a, "dtype"_a, "way"_a)
      .def(
          "synchronize",
          [](const Engine& engine, std::uintptr_t stream) {
            nb::gil_scoped_release release;
            engine.synchronize(reinterpret_cast<cuda::Stream>(stream));
          },
          "stream"_a)
      .def(
          "mark",
          [](const Engine& engine, std::uintptr_t stream) {
            nb::gil_scoped_release release;  // a full stream makes its caller wait
            return engine.mark(reinterpret_cast<cuda::Stream>(stream));
          },
          "stream"_a, nb::keep_alive<0, 1>(),
          "A mark after everything on a stream so far; None if the stream is captured into a "
          "graph.")
      .def("wait", &Engine::await, "mark"_a, nb::call_guard<nb::gil_scoped_release>(),
           "Wait until a mark of this engine is reached.")
      .def_prop_ro(
          "traffic",
          [](const Engine& engine) {
            std::vector<std::pair<std::uint64_t, std::uint64_t>> traffic;
            for (const gpu::Traffic& one : engine.traffic()) {
              traffic.emplace_back(one.sent, one.received);
            }
            return traffic;
          },
          "By rank, the bytes sent to it and received from it.")
      .def("abort", &Engine::abort);
}

}  // namespace railgauge
