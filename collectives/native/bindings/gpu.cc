// SPDX-License-Identifier: Apache-2.0
// The GPUs of this process, their memory and their streams.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <cstring>

#include "collectives/native/bindings/gpu_call.h"
#include "collectives/native/bindings/host_array.h"
#include "collectives/native/bindings/without_lock.h"
#include "collectives/native/gpu/fatbins.h"
#include "collectives/native/gpu/nvls.h"
#include "transports/native/cuda/exportable.h"
#include "transports/native/cuda/fabric_trial.h"
#include "transports/native/cuda/facts.h"
#include "transports/native/cuda/mark.h"
#include "transports/native/cuda/memory.h"
#include "transports/native/cuda/waiting.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace railgauge {

void bind_gpu(nb::module_& m) {
  m.def("gpu_count", &cuda::count,
        "The number of GPUs that this process can use; UnavailableError: no driver.");
  m.def(
      "gpu_facts",
      [](int device) {
        const cuda::Facts facts = cuda::facts(device);
        return std::tuple(facts.bus_id, facts.name);
      },
      "device"_a, "Its bus id, as `0000:1b:00.0`, and its name.");
  m.def("gpus_reach", &cuda::reach, "bus_id"_a, "other"_a,
        "Whether one can map the other's memory; False for one that this process does not see.");
  m.def("a_gpu_hangs", &cuda::any_hangs,
        "Whether a GPU of this process did not finish in time, and still has not.");
  m.def("has_gpu_kernels", [] { return gpu::fatbin(Dtype::kFloat32) != nullptr; });
  m.def("read_gpu_tensor", &read_gpu_tensor, "array"_a.none(),
        "Address, number of elements, type and GPU of a contiguous tensor that DLPack's C exchange "
        "API reads; None: it is none.");
  m.def("stream_of_gpu_tensor", &stream_of_gpu_tensor, "array"_a.none(),
        "The stream on which the library of such a tensor works; None: it is none.");
  m.def(
      "why_not_exportable", &cuda::why_not_exportable, "device"_a,
      "Why a GPU can have no memory that other processes map through descriptors; empty: it can.");
  m.def("why_no_nvls", &gpu::why_no_nvls, "device"_a,
        "Why a GPU cannot add up on NVSwitches; empty: it can.");
  nb::class_<cuda::FabricTrial>(m, "FabricTrial",
                                "A little memory of a GPU, by CUDA's number, to try whether those "
                                "of other hosts map it; UnavailableError: it has no such memory.")
      .def(nb::new_([](int device) { return without_lock<cuda::FabricTrial>(device); }), "device"_a)
      .def_prop_ro(
          "handle",
          [](const cuda::FabricTrial& trial) {
            const cuda::IpcHandle& handle = trial.handle();
            return nb::bytes(handle.bytes, sizeof handle.bytes);
          },
          "For the others, while this is there.")
      .def(
          "why_not",
          [](const cuda::FabricTrial& trial, const nb::bytes& handle) {
            cuda::IpcHandle other;
            if (handle.size() != sizeof other) throw Error(ErrorCode::kInvalid, "invalid handle");
            std::memcpy(&other, handle.c_str(), sizeof other);
            return trial.why_not(other);
          },
          "handle"_a, "Why memory of another one cannot be imported; empty: it can.");
  nb::class_<cuda::Memory>(m, "GpuMemory", "Memory of one GPU.")
      .def(
          nb::new_([](int device, std::size_t size, int handle_types) {
            return without_lock<cuda::Memory>(device, size, cuda::source(device, handle_types));
          }),
          "device"_a, "size"_a, "handle_types"_a = 0,
          "`handle_types`: those by which others map it (CU_MEM_HANDLE_TYPE_*, together); 0: it is "
          "cudaMalloc's.")
      .def_prop_ro("pointer", &cuda::Memory::pointer)
      .def(
          "write",
          [](cuda::Memory& memory, ReadOnlyData from) {
            const void* data = from.data();
            const std::size_t bytes = from.nbytes();
            nb::gil_scoped_release release;  // it waits for kernels, which wait for other threads
            memory.write(data, bytes);
          },
          "source"_a, "From its start on.")
      .def(
          "read",
          [](const cuda::Memory& memory, Data to) {
            void* data = to.data();
            const std::size_t bytes = to.nbytes();
            nb::gil_scoped_release release;
            memory.read(data, bytes);
          },
          "destination"_a, "From its start on.")
      .def("set", &cuda::Memory::set, "value"_a, "size"_a, nb::call_guard<nb::gil_scoped_release>(),
           "Set each of the first `size` bytes to a value.");
  nb::class_<cuda::Mark>(m, "GpuMark", "A position on a stream, as torch.cuda.Event has it.")
      .def(
          "wait",
          [](const cuda::Mark& mark, nb::handle stream) {
            mark.hold_back(reinterpret_cast<cuda::Stream>(
                nb::cast<std::uintptr_t>(stream.attr("cuda_stream"))));
          },
          "stream"_a, "Let a stream of PyTorch wait for it.")
      .def("query", &cuda::Mark::is_reached, "Whether it is reached.");
}

}  // namespace railgauge
