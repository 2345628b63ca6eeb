// SPDX-License-Identifier: Apache-2.0
// How the proxies of all networks are made and ended for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <memory>
#include <utility>

#include "transports/native/doorbell.h"

namespace railgauge {

// A proxy's end waits until its peers have taken what was posted; they may need the interpreter for
// it, whoever drops the last reference.
template <class Proxy>
void end_without_gil(Proxy* proxy) {
  nanobind::gil_scoped_acquire hold;
  nanobind::gil_scoped_release release;
  delete proxy;
}

template <class Proxy>
std::shared_ptr<Proxy> make_proxy(std::shared_ptr<Doorbell> doorbell, double linger_s) {
  auto linger =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(linger_s));
  return {new Proxy(std::move(doorbell), linger), &end_without_gil<Proxy>};
}

}  // namespace railgauge
