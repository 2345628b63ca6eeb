// SPDX-License-Identifier: Apache-2.0
// The extension module railgauge._native: one submodule per folder that has native code, each
// filled by the bindings beside that code.
#include <nanobind/nanobind.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace railgauge {
void bind_best_channels(nb::module_& m);
void bind_wiring(nb::module_& m);
void bind_nccl_search(nb::module_& m);
void bind_errors(nb::module_& m);
void bind_doorbell(nb::module_& m);
void bind_shm(nb::module_& m);
void bind_socket(nb::module_& m);
void bind_gdr(nb::module_& m);
void bind_ib(nb::module_& m);
void bind_communicator(nb::module_& m);
void bind_gpu(nb::module_& m);
void bind_gpu_engine(nb::module_& m);
void bind_gpu_link(nb::module_& m);
void bind_memory_floor(nb::module_& m);
void bind_messages(nb::module_& m);
void bind_nccl(nb::module_& m);
void bind_pattern(nb::module_& m);
void bind_reduce(nb::module_& m);
}  // namespace railgauge

NB_MODULE(_native, m) {
  m.doc() = "railgauge's native engine";
  nb::module_ topo = m.def_submodule("topo", "searches of channels");
  railgauge::bind_wiring(topo);
  railgauge::bind_best_channels(topo);
  railgauge::bind_nccl_search(topo);
  nb::module_ transports = m.def_submodule("transports", "connections between two ranks");
  transports.def(
      "keep",
      [](nb::object object) {
        nb::set_leak_warnings(false);
        object.release();
      },
      "object"_a,
      "Keep an object with all that it holds until this process ends, without a word about it "
      "then.");
  railgauge::bind_errors(transports);
  railgauge::bind_doorbell(transports);
  railgauge::bind_shm(transports);
  railgauge::bind_socket(transports);
  railgauge::bind_ib(transports);
  railgauge::bind_gdr(transports);
  nb::module_ collectives = m.def_submodule("collectives", "collectives over connections");
  railgauge::bind_communicator(collectives);
  railgauge::bind_gpu(collectives);
  railgauge::bind_gpu_engine(collectives);
  railgauge::bind_gpu_link(collectives);
  railgauge::bind_memory_floor(collectives);
  railgauge::bind_messages(collectives);
  railgauge::bind_nccl(collectives);
  railgauge::bind_pattern(collectives);
  railgauge::bind_reduce(collectives);
}
