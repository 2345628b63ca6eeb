// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "collectives/native/gpu/engine.h"
#include "transports/native/cuda/memory.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace railgauge {

namespace {

using gpu::Engine;
using Data = nb::ndarray<nb::device::cpu, nb::c_contig>;
using ReadOnlyData = nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>;

gpu::Lent read_lent(const nb::bytes& bytes) {
  gpu::Lent lent;
  if (bytes.size() != sizeof lent)
    throw Error(ErrorCode::kInvalid, "this is not what a GPU engine lends");
  std::memcpy(&lent, bytes.c_str(), sizeof lent);
  lent.bus_id[sizeof lent.bus_id - 1] = 0;
  return lent;
}

Operation read(int collective, std::uintptr_t source, std::uintptr_t destination, std::size_t count,
               int dtype, int op, int root) {
  if (collective < 0 || collective >= kCollectives || dtype < 0 || dtype >= kDtypes || op < 0 ||
      op >= kRedops) {
    throw Error(ErrorCode::kInvalid, "no such collective, dtype or operator");
  }
  return {static_cast<Collective>(collective),
          reinterpret_cast<const std::byte*>(source),
          reinterpret_cast<std::byte*>(destination),
          count,
          static_cast<Dtype>(dtype),
          static_cast<Redop>(op),
          root};
}

}  // namespace

void bind_gpu(nb::module_& m) {
  nb::class_<cuda::Memory>(m, "GpuMemory", "Memory of one GPU.")
      .def(nb::init<int, std::size_t>(), "device"_a, "size"_a)
      .def_prop_ro("pointer", &cuda::Memory::pointer)
      .def(
          "write",
          [](cuda::Memory& memory, ReadOnlyData from) { memory.write(from.data(), from.nbytes()); },
          "source"_a, "From the beginning on.")
      .def(
          "read", [](const cuda::Memory& memory, Data to) { memory.read(to.data(), to.nbytes()); },
          "destination"_a, "From the beginning on.")
      .def("set", &cuda::Memory::set, "value"_a, "size"_a,
           "The first `size` bytes, each to a value.");
  nb::class_<Engine>(m, "GpuEngine", "Collectives between GPUs that map each other's memory.")
      .def(nb::init<int, int, int, double>(), "device"_a, "rank"_a, "ranks"_a, "timeout_s"_a)
      .def_prop_ro("lent",
                   [](const Engine& engine) {
                     const gpu::Lent lent = engine.lent();
                     return nb::bytes(reinterpret_cast<const char*>(&lent), sizeof lent);
                   })
      .def(
          "connect",
          [](Engine& engine, const std::vector<nb::bytes>& lent) {
            std::vector<gpu::Lent> read;
            for (const nb::bytes& one : lent) read.push_back(read_lent(one));
            engine.connect(read);
          },
          "lent"_a)
      .def(
          "run",
          [](Engine& engine, int collective, std::uintptr_t source, std::uintptr_t destination,
             std::size_t count, int dtype, int op, int root, std::uintptr_t stream, int way,
             int blocks, std::uint32_t chunk_bytes) {
            const Operation operation =
                read(collective, source, destination, count, dtype, op, root);
            engine.run(operation, reinterpret_cast<cuda::Stream>(stream),
                       way < 0 ? engine.way(operation) : static_cast<gpu::Way>(way), blocks,
                       chunk_bytes);
          },
          "collective"_a, "source"_a, "destination"_a, "count"_a, "dtype"_a, "op"_a, "root"_a,
          "stream"_a, "way"_a = -1, "blocks"_a = 0, "chunk_bytes"_a = 0)
      .def(
          "synchronize",
          [](const Engine& engine, std::uintptr_t stream) {
            nb::gil_scoped_release release;
            engine.synchronize(reinterpret_cast<cuda::Stream>(stream));
          },
          "stream"_a)
      .def(
          "repeat",
          [](Engine& engine, int collective, std::uintptr_t source, std::uintptr_t destination,
             std::size_t count, int dtype, int op, int root, int ahead, int times, int replays) {
            const Operation operation =
                read(collective, source, destination, count, dtype, op, root);
            nb::gil_scoped_release release;
            return engine.repeat(operation, ahead, times, replays);
          },
          "collective"_a, "source"_a, "destination"_a, "count"_a, "dtype"_a, "op"_a, "root"_a,
          "ahead"_a, "times"_a, "replays"_a = 0)
      .def(
          "way",
          [](const Engine& engine, int collective, std::size_t count, int dtype) {
            return static_cast<int>(engine.way(read(collective, 0, 0, count, dtype, 0, 0)));
          },
          "collective"_a, "count"_a, "dtype"_a)
      .def("check", &Engine::check)
      .def("abort", &Engine::abort);
}

}  // namespace railgauge
