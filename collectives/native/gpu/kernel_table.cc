// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/kernel_table.h"

#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "collectives/native/gpu/fatbins.h"

namespace railgauge::gpu {

namespace {

constexpr const char* kWayNames[] = {"low_latency", "push", "full_lines",
                                     "ring",        "tree", "registered"};
constexpr Dtype kOnSwitches[] = {Dtype::kFloat16, Dtype::kBfloat16, Dtype::kFloat32};

}  // namespace

std::shared_ptr<const KernelTable> KernelTable::of(cuda::Context context, bool nvls) {
  static std::mutex mutex;
  static std::map<std::pair<cuda::Context, bool>, std::weak_ptr<const KernelTable>> tables;
  const std::lock_guard lock(mutex);
  std::weak_ptr<const KernelTable>& known = tables[{context, nvls}];
  std::shared_ptr<const KernelTable> table = known.lock();
  if (!table) known = table = std::make_shared<const KernelTable>(context, nvls);
  return table;
}

KernelTable::KernelTable(cuda::Context context, bool nvls) : functions_(kDtypes * kWays) {
  const cuda::Current current(context);
  for (int number = 0; number < kDtypes; ++number) {
    const auto dtype = static_cast<Dtype>(number);
    modules_.push_back(std::make_unique<cuda::Kernels>(context, fatbin(dtype),
                                                       std::string("for ") + dtype_name(dtype)));
    for (int way = 0; way < static_cast<int>(std::size(kWayNames)); ++way) {
      functions_[index(dtype, static_cast<Way>(way))] = modules_.back()->function(kWayNames[way]);
    }
    scales_.push_back(modules_.back()->function("scale"));
  }
  modules_.push_back(std::make_unique<cuda::Kernels>(context, message_fatbin(), "of messages"));
  messages_ = modules_.back()->function("messages");
  if (!nvls) return;
  modules_.push_back(std::make_unique<cuda::Kernels>(context, nvls_fatbin(), "of NVLS"));
  for (const Dtype dtype : kOnSwitches) {
    functions_[index(dtype, Way::kNvls)] =
        modules_.back()->function(std::string("nvls_") + dtype_name(dtype));
  }
}

}  // namespace railgauge::gpu
