// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/pattern.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include "collectives/native/bindings/host_array.h"
#include "collectives/native/bindings/without_lock.h"
#include "collectives/native/gpu/patterns.h"
#include "transports/native/error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace railgauge {

namespace {

using VerdictTuple = std::tuple<std::size_t, std::size_t, double, double, double>;

DataPattern make_pattern(int ranks, int dtype, int op, std::uint64_t seed, int kind) {
  if (ranks < 1) throw Error(ErrorCode::kInvalid, "a pattern needs at least 1 rank");
  if (dtype < 0 || dtype >= kDtypes || op < 0 || op >= kRedops || kind < 0 || kind > 1) {
    throw Error(ErrorCode::kInvalid, "unknown dtype, operator or kind of pattern");
  }
  return {ranks, static_cast<Dtype>(dtype), static_cast<Redop>(op), seed,
          static_cast<PatternKind>(kind)};
}

void check_length(const DataPattern& pattern, std::size_t bytes, std::size_t count) {
  if (bytes / dtype_bytes(pattern.dtype) < count) {
    throw Error(ErrorCode::kInvalid, "the buffer is shorter than count");
  }
}

VerdictTuple result(const Verdict& v) { return {v.wrong, v.index, v.expected, v.got, v.ulps}; }

}  // namespace

void bind_pattern(nb::module_& m) {
  nb::class_<DataPattern>(m, "Pattern", "Every rank's input, and the expected reduction of all.")
      .def(
          "__init__",
          [](DataPattern* self, int ranks, int dtype, int op, std::uint64_t seed, int kind) {
            new (self) DataPattern(make_pattern(ranks, dtype, op, seed, kind));
          },
          "ranks"_a, "dtype"_a, "op"_a, "seed"_a, "kind"_a = 0);
  m.def(
      "fill_pattern",
      [](const DataPattern& pattern, int rank, Data data, std::size_t count, std::uint64_t first) {
        check_length(pattern, data.nbytes(), count);
        void* to = data.data();
        nb::gil_scoped_release release;
        fill_pattern(pattern, rank, to, count, first);
      },
      "pattern"_a, "rank"_a, "data"_a, "count"_a, "first"_a = 0,
      "Write elements first ... first + count - 1 of one rank's input.");
  m.def(
      "check_reduced",
      [](const DataPattern& pattern, ReadOnlyData data, std::size_t count, std::uint64_t first) {
        check_length(pattern, data.nbytes(), count);
        const void* from = data.data();
        nb::gil_scoped_release release;
        return result(check_reduced(pattern, from, count, first));
      },
      "pattern"_a, "data"_a, "count"_a, "first"_a = 0,
      "Compare every element with the reduction over all ranks: (wrong, index of the first, "
      "expected, got, tolerance in ULP).");
  m.def(
      "check_copied",
      [](const DataPattern& pattern, int rank, ReadOnlyData data, std::size_t count,
         std::uint64_t first) {
        check_length(pattern, data.nbytes(), count);
        const void* from = data.data();
        nb::gil_scoped_release release;
        return result(check_copied(pattern, rank, from, count, first));
      },
      "pattern"_a, "rank"_a, "data"_a, "count"_a, "first"_a = 0,
      "Compare every element with what fill_pattern writes; the result is as check_reduced's.");
  nb::class_<gpu::Patterns>(m, "GpuPatterns", "The same for data in the memory of one GPU.")
      .def(nb::new_(&without_lock<gpu::Patterns, int, double>), "device"_a, "timeout_s"_a)
      .def(
          "fill",
          [](gpu::Patterns& patterns, const DataPattern& pattern, int rank, cuda::Pointer data,
             std::size_t count, std::uint64_t first) {
            nb::gil_scoped_release release;
            patterns.fill(pattern, rank, data, count, first);
          },
          "pattern"_a, "rank"_a, "data"_a, "count"_a, "first"_a = 0)
      .def(
          "check_reduced",
          [](gpu::Patterns& patterns, const DataPattern& pattern, cuda::Pointer data,
             std::size_t count, std::uint64_t first) {
            nb::gil_scoped_release release;
            return result(patterns.check_reduced(pattern, data, count, first));
          },
          "pattern"_a, "data"_a, "count"_a, "first"_a = 0)
      .def(
          "check_copied",
          [](gpu::Patterns& patterns, const DataPattern& pattern, int rank, cuda::Pointer data,
             std::size_t count, std::uint64_t first) {
            nb::gil_scoped_release release;
            return result(patterns.check_copied(pattern, rank, data, count, first));
          },
          "pattern"_a, "rank"_a, "data"_a, "count"_a, "first"_a = 0);
}

}  // namespace railgauge
