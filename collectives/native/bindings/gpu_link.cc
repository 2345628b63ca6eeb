// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/link.h"

#include <nanobind/nanobind.h>

#include "collectives/native/bindings/without_lock.h"
#include "transports/native/cuda/memory.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace railgauge {

namespace {

using gpu::GpuLink;

nb::tuple as_tuple(const Verdict& verdict) {
  return nb::make_tuple(verdict.wrong, verdict.index, verdict.expected, verdict.got, verdict.ulps);
}

}  // namespace

void bind_gpu_link(nb::module_& m) {
  m.def("gpu_memory_left", &cuda::memory_left, "device"_a, nb::call_guard<nb::gil_scoped_release>(),
        "Free bytes of a GPU's memory.");
  nb::class_<GpuLink>(m, "GpuLink",
                      "The path between two GPUs of this process, timed and verified.")
      .def(nb::new_(&without_lock<GpuLink, int, int, std::size_t, bool, double>), "low"_a, "high"_a,
           "room"_a, "peers"_a, "timeout_s"_a)
      .def(
          "seconds",
          [](GpuLink& link, int method, int flow, std::size_t size, int times) {
            nb::gil_scoped_release release;
            return link.seconds(static_cast<gpu::CopyMethod>(method), static_cast<gpu::Flow>(flow),
                                size, times);
          },
          "method"_a, "flow"_a, "size"_a, "times"_a,
          "The seconds of one of `times` messages of `size` bytes.")
      .def(
          "check",
          [](GpuLink& link, int method, std::size_t size, std::uint64_t seed) {
            const auto found = [&] {
              nb::gil_scoped_release release;
              return link.check(static_cast<gpu::CopyMethod>(method), size, seed);
            }();
            return nb::make_tuple(as_tuple(found[0]), as_tuple(found[1]));
          },
          "method"_a, "size"_a, "seed"_a,
          nb::sig(
              "def check(self, method: int, size: int, seed: int) -> "
              "tuple[tuple[int, int, float, float, float], tuple[int, int, float, float, float]]"),
          "Send fresh bytes in both directions: the verdict on both GPUs' data, the lower's first, "
          "as in "
          "check_copied.")
      .def("abort", &GpuLink::abort, "End another thread's measurement.");
}

}  // namespace railgauge
