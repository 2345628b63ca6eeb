// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "transports/native/bindings/proxy.h"
#include "transports/native/socket/connection.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace railgauge {

namespace {

template <typename Kind, typename Base>
void bind_socket_end(nb::module_& m, const char* name) {
  nb::class_<Kind, Base>(m, name).def(
      "__init__",
      [](Kind* self, std::shared_ptr<socket::Proxy> proxy, std::vector<int> fds, int threads,
         int peer, std::string address, std::string via, std::uint32_t slots,
         std::uint32_t slot_bytes) {
        new (self) Kind(std::move(proxy), {std::move(fds), threads, peer, std::move(address),
                                           std::move(via), slots, slot_bytes});
      },
      "proxy"_a, "fds"_a, "threads"_a, "peer"_a, "address"_a, "via"_a, "slots"_a, "slot_bytes"_a);
}

}  // namespace

void bind_socket(nb::module_& m) {
  nb::class_<socket::Proxy>(
      m, "SocketProxy", "Moves the messages of a rank's sockets; made before its first operation.")
      .def(nb::new_(&make_proxy<socket::Proxy>), "doorbell"_a, "linger_s"_a)
      .def("abort", &socket::Proxy::abort, "Close all sockets at once, even with messages posted.")
      .def("close", &socket::Proxy::close, nb::call_guard<nb::gil_scoped_release>(),
           "Send what was posted, unless aborted, and close all sockets.");
  bind_socket_end<socket::SocketReceiver, Receiver>(m, "SocketReceiver");
  bind_socket_end<socket::SocketSender, Sender>(m, "SocketSender");
}

}  // namespace railgauge
