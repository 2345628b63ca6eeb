// SPDX-License-Identifier: Apache-2.0
#include "transports/native/ib/region.h"

#include <sys/resource.h>

#include <algorithm>

namespace railgauge::ib {

namespace {

std::string lock_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return " (this process can lock " + std::to_string(limit.rlim_cur >> 10) +
         " KiB: `ulimit -l unlimited`, or LimitMEMLOCK=infinity of the service that starts it)";
}

}  // namespace

Region::Region(const Rails& rails, const std::byte* data, std::size_t bytes, unsigned access,
               std::shared_ptr<const DmaBuf> exported)
    : data_(data), bytes_(bytes), access_(access), exported_(std::move(exported)) {
  try {
    for (const auto& rail : rails) add(rail);
  } catch (...) {
    release();
    throw;
  }
}

Region::~Region() { release(); }

void Region::release() {
  for (auto& [rail, registration] : registered_) Verbs::get().dereg_mr(registration);
}

void Region::add(const std::shared_ptr<Rail>& rail) {
  for (auto& [known, registration] : registered_) {
    if (known == rail) return;
  }
  abi::Mr* registration = registered(*rail);
  if (registration == nullptr) {
    throw verbs_error(rail->name() + ": registering " + std::to_string(bytes_) +
                          " bytes of memory" + (exported_ ? " as a DMA-BUF" : "") +
                          (errno == ENOMEM ? lock_limit() : ""),
                      errno);
  }
  registered_.emplace_back(rail, registration);
}

abi::Mr* Region::registered(const Rail& rail) const {
  const Verbs& verbs = Verbs::get();
  const auto address = reinterpret_cast<std::uint64_t>(data_);
  const unsigned access = (access_ ? abi::kLocalWrite | access_ : 0) |
                          (rail.settings().relaxed_ordering ? abi::kRelaxedOrdering : 0);
  if (!exported_) {
    return verbs.reg_mr_iova2(rail.pd(), const_cast<std::byte*>(data_), bytes_, address, access);
  }
  if (!verbs.reg_dmabuf_mr) {
    throw Error(ErrorCode::kSystem,
                "libibverbs.so.1 has no ibv_reg_dmabuf_mr: DMA-BUF needs rdma-core 34");
  }
  return verbs.reg_dmabuf_mr(rail.pd(), exported_->offset, bytes_, address, exported_->fd.get(),
                             static_cast<int>(access));
}

const abi::Mr& Region::on(const Rail& rail) const {
  auto found = std::find_if(registered_.begin(), registered_.end(),
                            [&](const auto& one) { return one.first.get() == &rail; });
  if (found == registered_.end()) {
    throw Error(ErrorCode::kInvalid, "memory is not registered with " + rail.name());
  }
  return *found->second;
}

}  // namespace railgauge::ib
