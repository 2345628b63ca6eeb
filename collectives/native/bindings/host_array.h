// SPDX-License-Identifier: Apache-2.0
// NumPy's arrays of any type as arguments of bindings that take bytes: C-contiguous, on the host.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace railgauge {

using Data = nanobind::ndarray<nanobind::device::cpu, nanobind::c_contig>;
using ReadOnlyData = nanobind::ndarray<nanobind::ro, nanobind::device::cpu, nanobind::c_contig>;

}  // namespace railgauge
