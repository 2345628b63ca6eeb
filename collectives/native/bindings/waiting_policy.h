// SPDX-License-Identifier: Apache-2.0
// How a rank waits that Python has started.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include "collectives/native/spin.h"
#include "transports/native/bindings/seconds.h"
#include "transports/native/waiting.h"

namespace railgauge {

// Lets Python's signal handlers run, so that Ctrl-C ends a wait. They run only on the main thread.
inline void hear_signals() {
  if (gettid() != getpid()) return;
  nanobind::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

inline Waiting::Policy waiting_policy(double timeout_s, bool crowded, bool over_sockets) {
  return {nanoseconds(timeout_s), spin_time(crowded, over_sockets), hear_signals};
}

}  // namespace railgauge
