// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/pattern.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include "transports/native/error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace railgauge {

namespace {

Pattern pattern(int ranks, int dtype, int op, std::uint64_t seed) {
  return {ranks, static_cast<Dtype>(dtype), static_cast<Redop>(op), seed};
}

void check_length(std::size_t bytes, std::size_t count, int dtype) {
  if (bytes < count * dtype_bytes(static_cast<Dtype>(dtype))) {
    throw Error(ErrorCode::kInvalid, "the buffer is shorter than count says");
  }
}

}  // namespace

void bind_pattern(nb::module_& m) {
  m.def(
      "fill_pattern",
      [](nb::ndarray<nb::device::cpu, nb::c_contig> data, std::size_t count, int rank, int ranks,
         int dtype, int op, std::uint64_t seed) {
        check_length(data.nbytes(), count, dtype);
        void* to = data.data();
        nb::gil_scoped_release release;
        fill_pattern(pattern(ranks, dtype, op, seed), rank, to, count);
      },
      "data"_a, "count"_a, "rank"_a, "ranks"_a, "dtype"_a, "op"_a, "seed"_a,
      "Write one rank's input of `count` elements.");
  m.def(
      "check_pattern",
      [](nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig> data, std::size_t count, int ranks,
         int dtype, int op, std::uint64_t seed) {
        check_length(data.nbytes(), count, dtype);
        const void* from = data.data();
        Verdict verdict;
        {
          nb::gil_scoped_release release;
          verdict = check_pattern(pattern(ranks, dtype, op, seed), from, count);
        }
        return std::make_tuple(verdict.wrong, verdict.index, verdict.expected, verdict.got);
      },
      "data"_a, "count"_a, "ranks"_a, "dtype"_a, "op"_a, "seed"_a,
      "Compare every element: (wrong, index of the first, expected, got).");
}

}  // namespace railgauge
