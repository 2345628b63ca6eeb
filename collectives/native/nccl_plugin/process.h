// SPDX-License-Identifier: Apache-2.0
// What else of this process is known without linking to it: the NCCL that loaded us, and the GPU of
// this thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace railgauge::nccl_plugin {

// As NCCL_VERSION counts; 0 if the library is not found.
std::uint32_t nccl_release();
// Of the GPU of the current context, as the driver writes it; without one `text` stays as it is.
void gpu_bus_id(char* text, std::size_t bytes);
void gpu_name(char* text, std::size_t bytes);

}  // namespace railgauge::nccl_plugin
