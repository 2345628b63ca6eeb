// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/communicator.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "transports/native/error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace railgauge {

namespace {

using Input = nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>;
using Output = nb::ndarray<nb::device::cpu, nb::c_contig>;
using Seconds = std::chrono::duration<double>;

std::chrono::nanoseconds nanoseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Seconds(seconds));
}

void check_buffers(const Input& source, const Output& destination, std::size_t count, Dtype dtype) {
  if (source.nbytes() < count * dtype_bytes(dtype) ||
      destination.nbytes() < count * dtype_bytes(dtype)) {
    throw Error(ErrorCode::kInvalid, "a buffer is shorter than count says");
  }
}

// Runs the operation `iterations` times and returns the seconds each took.
std::vector<double> all_reduce(Communicator& self, const Input& source, const Output& destination,
                               std::size_t count, int dtype, int op, int iterations) {
  auto type = static_cast<Dtype>(dtype);
  check_buffers(source, destination, count, type);
  std::vector<double> seconds(iterations);
  const void* from = source.data();
  void* to = destination.data();
  nb::gil_scoped_release release;
  auto before = std::chrono::steady_clock::now();
  for (double& taken : seconds) {
    self.all_reduce(from, to, count, type, static_cast<Redop>(op));
    auto now = std::chrono::steady_clock::now();
    taken = Seconds(now - before).count();
    before = now;
  }
  return seconds;
}

}  // namespace

void bind_communicator(nb::module_& m) {
  nb::class_<RingChannel>(m, "RingChannel", "A channel as one rank sees it.")
      .def(
          "__init__",
          [](RingChannel* self, int position, int ranks, std::shared_ptr<Sender> next,
             std::shared_ptr<Receiver> previous) {
            new (self) RingChannel{position, ranks, std::move(next), std::move(previous)};
          },
          "position"_a, "ranks"_a, "next"_a.none(), "previous"_a.none());

  nb::class_<Communicator>(m, "Communicator",
                           "One rank's connected channels, and operations on them.")
      .def(
          "__init__",
          [](Communicator* self, std::shared_ptr<Doorbell> doorbell,
             std::vector<RingChannel> channels, double timeout_s, double spin_s,
             std::size_t min_channel_bytes, std::size_t stream_bytes) {
            new (self) Communicator(
                std::move(doorbell), std::move(channels),
                {nanoseconds(timeout_s), nanoseconds(spin_s), min_channel_bytes, stream_bytes});
          },
          "doorbell"_a, "channels"_a, "timeout_s"_a, "spin_s"_a, "min_channel_bytes"_a,
          "stream_bytes"_a)
      .def("all_reduce", &all_reduce, "source"_a, "destination"_a, "count"_a, "dtype"_a, "op"_a,
           "iterations"_a = 1,
           "Reduce over all ranks, `iterations` times; return the seconds each took.")
      .def("channels_for", &Communicator::channels_for, "bytes"_a)
      .def_prop_ro(
          "blocked_on",
          [](const Communicator& self) {
            BlockedOn on = self.blocked_on();
            return std::make_tuple(on.rank, on.frees_slot != 0);
          },
          "(rank, whether it has to free a slot; else send data); rank -1: waits for nobody");
}

}  // namespace railgauge
