// SPDX-License-Identifier: Apache-2.0
// One call of a collective on tensors of a GPU, with nothing of Python in between: they are read
// through DLPack's C exchange API, as PyTorch from 2.9 on has it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>

#include "collectives/native/gpu/engine.h"

namespace railgauge {

// Puts it on the stream on which the tensors' library works now. False, and nothing was done, where
// the arrays are not such tensors, or do not fit the collective: what is wrong then is for others
// to find. Throws Error as Engine::run() does.
bool call_on_gpu(gpu::Engine& engine, int collective, nanobind::handle source,
                 nanobind::handle destination, int op, int root);
// Puts it on the stream `aside`, after all that is on that stream so far; a mark behind it. Null:
// nothing was done.
std::unique_ptr<cuda::Mark> call_on_gpu_aside(gpu::Engine& engine, int collective,
                                              nanobind::handle source, nanobind::handle destination,
                                              int op, int root, std::uintptr_t aside);

// Where such a tensor lies, how many elements it has, the number of their type, and CUDA's of the
// GPU; nothing: it is none, or not contiguous, or kernels do not have its type.
std::optional<std::tuple<std::uintptr_t, std::size_t, int, int>> read_gpu_tensor(
    nanobind::handle array);
// The stream on which its library works now; nothing: it is no such tensor.
std::optional<std::uintptr_t> stream_of_gpu_tensor(nanobind::handle array);

}  // namespace railgauge
