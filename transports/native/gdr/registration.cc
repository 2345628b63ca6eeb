// SPDX-License-Identifier: Apache-2.0
#include "transports/native/gdr/registration.h"

#include "transports/native/cuda/exported.h"

namespace railgauge::gdr {

std::vector<Attempt> registered(cuda::Context context, cuda::Pointer pointer, std::size_t bytes,
                                bool dma_buf,
                                const std::function<void(std::shared_ptr<const DmaBuf>)>& with) {
  std::vector<Attempt> attempts;
  const auto tries = [&](const char* how, const auto& exported) {
    attempts.push_back({how, ""});
    try {
      with(exported());
      return true;
    } catch (const Error& error) {
      attempts.back().error = error.what();
      return false;
    }
  };
  const auto as_dma_buf = [&] {
    return std::make_shared<const DmaBuf>(cuda::exported(context, pointer, bytes));
  };
  const bool is_registered = dma_buf && tries(kDmaBuf, as_dma_buf);
  if (!is_registered) tries(kPeerMemory, [] { return nullptr; });
  return attempts;
}

}  // namespace railgauge::gdr
