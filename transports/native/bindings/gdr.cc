// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "transports/native/bindings/seconds.h"
#include "transports/native/cuda/exported.h"
#include "transports/native/cuda/gpu.h"
#include "transports/native/gdr/flush.h"
#include "transports/native/gdr/trial.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace railgauge {

namespace {

const std::byte* at(std::uintptr_t address) { return reinterpret_cast<const std::byte*>(address); }

}  // namespace

void bind_gdr(nb::module_& m) {
  m.def(
      "export_gpu_memory",
      [](int device, std::uintptr_t address, std::size_t bytes) {
        const cuda::Gpu gpu(device);
        const DmaBuf exported = cuda::exported(gpu.context(), address, bytes);
        const int fd = fcntl(exported.fd.get(), F_DUPFD_CLOEXEC, 0);
        if (fd < 0) throw system_error("a descriptor of a GPU's memory");
        return std::pair(fd, exported.offset);
      },
      "device"_a, "address"_a, "bytes"_a,
      "A DMA-BUF of a GPU's memory, by CUDA's number: its descriptor, which the caller closes, "
      "and the memory's offset in it. UnavailableError: there is none.");
  nb::class_<gdr::Attempt>(m, "GdrAttempt", "A way to register a GPU's memory with a port.")
      .def_ro("how", &gdr::Attempt::how, "`DMA-BUF` or `peer memory`")
      .def_ro("error", &gdr::Attempt::error, "empty: registered this way");
  nb::class_<gdr::Trial>(m, "GdrTrial", "The result of a GPUDirect RDMA trial.")
      .def_ro("registration", &gdr::Trial::registration,
              "the registrations that were tried, in order")
      .def_ro("failed", &gdr::Trial::failed, "the step that failed, and why; empty: none");
  m.def(
      "try_gdr",
      [](const std::shared_ptr<ib::Rail>& rail, const std::string& bus_id, std::size_t bytes,
         bool dma_buf, double timeout_s) {
        return gdr::tried(rail, bus_id, bytes, dma_buf, nanoseconds(timeout_s));
      },
      "rail"_a, "bus_id"_a, "bytes"_a, nb::kw_only(), "dma_buf"_a = true, "timeout_s"_a = 10.0,
      nb::call_guard<nb::gil_scoped_release>(),
      "Have a port write into a GPU's memory and send from it, and verify every byte. "
      "`timeout_s`: "
      "of each transfer.");
  m.def(
      "register_gpu_memory",
      [](ib::Proxy& proxy, int device, std::uintptr_t address, std::size_t bytes, bool remote_write,
         bool dma_buf) {
        const cuda::Gpu gpu(device);
        const unsigned access = remote_write ? ib::abi::kRemoteWrite | ib::abi::kRemoteRead : 0;
        return gdr::registered(
            gpu.context(), address, bytes, dma_buf, [&](std::shared_ptr<const DmaBuf> exported) {
              proxy.register_memory(at(address), bytes, access, std::move(exported));
            });
      },
      "proxy"_a, "device"_a, "address"_a, "bytes"_a, nb::kw_only(), "remote_write"_a,
      "dma_buf"_a = true, nb::call_guard<nb::gil_scoped_release>(),
      "Register memory of a GPU, by CUDA's number, with the ports that the proxy uses: what was "
      "tried, the last of it with success, or with none.");
  nb::class_<gdr::Flush>(m, "GdrFlush", "Makes data that a port has written visible to the GPU.")
      .def(
          "__init__",
          [](gdr::Flush* self, std::shared_ptr<ib::Proxy> proxy, const ib::Rails& rails,
             std::uintptr_t address, std::size_t bytes, double timeout_s) {
            new (self)
                gdr::Flush(std::move(proxy), rails, at(address), bytes, nanoseconds(timeout_s));
          },
          "proxy"_a, "rails"_a, "address"_a, "bytes"_a, "timeout_s"_a,
          "For memory that was registered with remote_write, and is written over those rails.");
}

}  // namespace railgauge
