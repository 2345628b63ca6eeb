// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/reduce.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include "transports/native/error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace railgauge {

void bind_reduce(nb::module_& m) {
  m.def(
      "combine",
      [](nb::ndarray<nb::device::cpu, nb::c_contig> out,
         const std::vector<nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>>& inputs, int dtype,
         int op, int divisor, bool stream) {
        if (dtype < 0 || dtype >= kDtypes || op < 0 || op >= kRedops || inputs.empty()) {
          throw Error(ErrorCode::kInvalid, "unknown dtype or operator, or no input");
        }
        std::vector<const void*> data;
        for (const auto& input : inputs) {
          if (input.nbytes() != out.nbytes()) {
            throw Error(ErrorCode::kInvalid, "the inputs and the result differ in length");
          }
          data.push_back(input.data());
        }
        auto element = static_cast<Dtype>(dtype);
        combine_all(element, static_cast<Redop>(op))(
            out.data(), nullptr, data.data(), static_cast<int>(data.size()),
            out.nbytes() / dtype_bytes(element), divisor, stream);
        if (stream) stream_fence();
      },
      "out"_a, "inputs"_a, "dtype"_a, "op"_a, "divisor"_a = 0, "stream"_a = false,
      "out = inputs[0] op inputs[1] op ..., element by element, divided by `divisor` unless that "
      "is 0: the kernel that reductions run.");
}

}  // namespace railgauge
