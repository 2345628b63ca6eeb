// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/memory_floor.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "transports/native/error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace railgauge {

void bind_memory_floor(nb::module_& m) {
  m.def(
      "memory_floor",
      [](nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig> source, std::size_t source_bytes,
         nb::ndarray<nb::device::cpu, nb::c_contig> destination, std::size_t destination_bytes,
         int times) {
        if (source.nbytes() < source_bytes || destination.nbytes() < destination_bytes) {
          throw Error(ErrorCode::kInvalid, "a buffer is shorter than its size argument");
        }
        const auto* from = static_cast<const std::byte*>(source.data());
        auto* to = static_cast<std::byte*>(destination.data());
        nb::gil_scoped_release release;
        return memory_floor(from, source_bytes, to, destination_bytes, times);
      },
      "source"_a, "source_bytes"_a, "destination"_a, "destination_bytes"_a, "times"_a,
      "The seconds that this rank takes to read its input once and write its output once, the best "
      "of `times`; overwrites the destination.");
}

}  // namespace railgauge
