// SPDX-License-Identifier: Apache-2.0
#include "transports/native/gdr/flush.h"

namespace railgauge::gdr {

Flush::Flush(std::shared_ptr<ib::Proxy> proxy, const ib::Rails& rails, const std::byte* data,
             std::size_t bytes, std::chrono::nanoseconds limit)
    : proxy_(std::move(proxy)),
      data_(data),
      memory_(proxy_->registered(data, bytes, ib::abi::kRemoteRead)),
      limit_(limit),
      here_(rails, &landing_, sizeof landing_, ib::abi::kRemoteWrite) {
  for (const auto& rail : rails) loopbacks_.push_back(std::make_unique<ib::Loopback>(rail));
}

void Flush::run() {
  for (auto& loopback : loopbacks_) loopback->read(memory_, data_, here_, &landing_, 1, limit_);
}

}  // namespace railgauge::gdr
