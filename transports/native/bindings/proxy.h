// SPDX-License-Identifier: Apache-2.0
// Creating and closing the proxies of all networks from Python.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

#include "transports/native/bindings/seconds.h"
#include "transports/native/doorbell.h"

namespace railgauge {

// Closing a proxy waits until its peers have received what was posted; they may need the
// interpreter for that, whichever thread drops the last reference.
template <class Proxy>
void end_without_gil(Proxy* proxy) {
  nanobind::gil_scoped_acquire hold;
  nanobind::gil_scoped_release release;
  delete proxy;
}

template <class Proxy>
std::shared_ptr<Proxy> make_proxy(std::shared_ptr<Doorbell> doorbell, double linger_s) {
  return {new Proxy(std::move(doorbell), nanoseconds(linger_s)), &end_without_gil<Proxy>};
}

}  // namespace railgauge
