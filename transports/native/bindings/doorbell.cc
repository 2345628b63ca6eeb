// SPDX-License-Identifier: Apache-2.0
#include "transports/native/doorbell.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace railgauge {

void bind_doorbell(nb::module_& m) {
  nb::class_<Doorbell>(m, "Doorbell", "Wakes one rank of this host; any peer may ring it.")
      .def(nb::new_(&Doorbell::create))
      .def_static("open", &Doorbell::open, nb::arg("descriptor"))
      .def_prop_ro("descriptor", &Doorbell::descriptor)
      .def("abort", &Doorbell::abort, "Make the owner give up its operation.")
      .def_prop_ro("aborted", &Doorbell::aborted);
}

}  // namespace railgauge
