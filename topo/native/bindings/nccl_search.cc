// SPDX-License-Identifier: Apache-2.0
#include "topo/native/nccl_search.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace railgauge {

void bind_nccl_search(nb::module_& m) {
  using topo::NcclGraph;
  nb::class_<NcclGraph>(
      m, "NcclGraph", "Channels that NCCL would choose, all of one speed; GPUs and NICs by number.")
      .def_prop_ro("pattern", [](const NcclGraph& g) { return static_cast<int>(g.pattern); })
      .def_ro("cross_nic", &NcclGraph::cross_nic)
      .def_ro("same_channels", &NcclGraph::same_channels)
      .def_ro("type_intra", &NcclGraph::type_intra)
      .def_ro("type_inter", &NcclGraph::type_inter)
      .def_ro("intra", &NcclGraph::intra)
      .def_ro("inter", &NcclGraph::inter)
      .def_ro("latency_us", &NcclGraph::latency_us)
      .def_ro("channels", &NcclGraph::channels)
      .def_ro("order", &NcclGraph::order)
      .def_ro("nets", &NcclGraph::nets);
  m.def(
      "nccl_ring",
      [](const topo::Wiring& wiring, int most, int cross_nic) {
        return topo::nccl_graph(wiring, topo::Pattern::ring, 1, most, cross_nic);
      },
      nb::arg("wiring"), nb::arg("most_channels"), nb::arg("cross_nic"),
      nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "nccl_tree",
      [](const topo::Wiring& wiring, int channels, int cross_nic) {
        return topo::nccl_graph(wiring, topo::Pattern::balanced_tree, channels, channels,
                                cross_nic);
      },
      nb::arg("wiring"), nb::arg("channels"), nb::arg("cross_nic"),
      nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace railgauge
