// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "collectives/native/gpu/engine.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace railgauge {

namespace {

using gpu::Engine;

cuda::IpcHandle read_handle(const nb::bytes& bytes) {
  cuda::IpcHandle handle;
  if (bytes.size() != sizeof handle) throw Error(ErrorCode::kInvalid, "a handle has 64 bytes");
  std::memcpy(&handle, bytes.c_str(), sizeof handle);
  return handle;
}

}  // namespace

void bind_gpu(nb::module_& m) {
  nb::class_<Engine>(m, "GpuEngine", "Collectives between GPUs that map each other's memory.")
      .def(nb::init<int, int, int, double>(), "device"_a, "rank"_a, "ranks"_a, "timeout_s"_a)
      .def_prop_ro("handle",
                   [](const Engine& engine) {
                     const cuda::IpcHandle handle = engine.handle();
                     return nb::bytes(handle.bytes, sizeof handle);
                   })
      .def(
          "connect",
          [](Engine& engine, const std::vector<nb::bytes>& handles) {
            std::vector<cuda::IpcHandle> read;
            for (const nb::bytes& one : handles) read.push_back(read_handle(one));
            engine.connect(read);
          },
          "handles"_a)
      .def(
          "run",
          [](Engine& engine, int collective, std::uintptr_t source, std::uintptr_t destination,
             std::size_t count, int dtype, int op, int root, std::uintptr_t stream, int way, int blocks,
             std::uint32_t chunk_bytes) {
            const Operation operation{static_cast<Collective>(collective),
                                      reinterpret_cast<const std::byte*>(source),
                                      reinterpret_cast<std::byte*>(destination),
                                      count,
                                      static_cast<Dtype>(dtype),
                                      static_cast<Redop>(op),
                                      root};
            engine.run(operation, reinterpret_cast<cuda::Stream>(stream),
                       way < 0 ? engine.way(operation) : static_cast<gpu::Way>(way), blocks, chunk_bytes);
          },
          "collective"_a, "source"_a, "destination"_a, "count"_a, "dtype"_a, "op"_a, "root"_a, "stream"_a,
          "way"_a = -1, "blocks"_a = 0, "chunk_bytes"_a = 0)
      .def("synchronize", [](const Engine& engine, std::uintptr_t stream) {
            nb::gil_scoped_release release;
            engine.synchronize(reinterpret_cast<cuda::Stream>(stream));
          }, "stream"_a)
      .def("check", &Engine::check)
      .def("abort", &Engine::abort);
}

}  // namespace railgauge
