// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <cstring>

#include "collectives/native/bindings/operation.h"
#include "collectives/native/bindings/without_lock.h"
#include "collectives/native/nccl/communicator.h"
#include "collectives/native/nccl/registered_memory.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace railgauge {

namespace {

nccl::UniqueId read_id(const nb::bytes& bytes) {
  nccl::UniqueId id;
  if (bytes.size() != sizeof id) throw Error(ErrorCode::kInvalid, "not an NCCL id");
  std::memcpy(&id, bytes.c_str(), sizeof id);
  return id;
}

}  // namespace

void bind_nccl(nb::module_& m) {
  nb::class_<nccl::Library>(m, "NcclLibrary", "NVIDIA's libnccl, opened at run time.")
      .def(nb::init<const std::string&>(), "path"_a)
      .def_prop_ro("version", &nccl::Library::version_text, "as 2.28.9")
      .def_prop_ro("version_code", &nccl::Library::version, "as 22809")
      .def(
          "unique_id",
          [](const nccl::Library& library) {
            nccl::UniqueId id;
            library.check(library.unique_id(&id), "making an id");
            return nb::bytes(id.bytes, sizeof id);
          },
          "An id for the ranks of one communicator.");
  nb::class_<nccl::NcclCommunicator>(m, "NcclCommunicator", "One rank's communicator of NCCL.")
      .def(nb::new_(&without_lock<nccl::NcclCommunicator, std::shared_ptr<nccl::Library>, int, int,
                                  int, double>),
           "library"_a, "device"_a, "rank"_a, "ranks"_a, "timeout_s"_a)
      .def(
          "connect",
          [](nccl::NcclCommunicator& comm, const nb::bytes& id) {
            const nccl::UniqueId read = read_id(id);
            nb::gil_scoped_release release;
            comm.connect(read);
          },
          "id"_a)
      .def(
          "allocate",
          [](nccl::NcclCommunicator& comm, std::size_t size, int registration) {
            const auto kind = static_cast<nccl::RegistrationKind>(registration);
            std::unique_ptr<cuda::Memory> allocated;
            {
              nb::gil_scoped_release release;
              allocated = nccl::allocate(comm, size, kind);
            }
            return ended_without_lock(std::move(allocated));
          },
          "size"_a, "registration"_a, nb::keep_alive<0, 1>(),
          "Memory registered as nccl-tests' -R: 0, 1 or 2.")
      .def(
          "repeat",
          [](nccl::NcclCommunicator& comm, int collective, std::uintptr_t source,
             std::uintptr_t destination, std::size_t count, int dtype, int op, int root, int ahead,
             int times, int replays) {
            const Operation operation =
                read_operation(collective, source, destination, count, dtype, op, root);
            nb::gil_scoped_release release;
            return comm.repeat(operation, ahead, times, replays);
          },
          "collective"_a, "source"_a, "destination"_a, "count"_a, "dtype"_a, "op"_a, "root"_a,
          "ahead"_a, "times"_a, "replays"_a = 0)
      .def("abort", &nccl::NcclCommunicator::abort, nb::call_guard<nb::gil_scoped_release>(),
           "End all waits, on the GPU too; for any thread.");
}

}  // namespace railgauge
