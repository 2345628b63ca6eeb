// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/gpu/kernel_table.h"

#include <map>
#include <mutex>
#include <string>

#include "collectives/native/gpu/fatbins.h"

namespace railgauge::gpu {

namespace {

constexpr const char* kWayNames[] = {"low_latency", "push", "full_lines",
                                     "ring",        "tree", "registered"};

}  // namespace

std::shared_ptr<const KernelTable> KernelTable::of(cuda::Context context) {
  static std::mutex mutex;
  static std::map<cuda::Context, std::weak_ptr<const KernelTable>> tables;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const KernelTable> table = tables[context].lock();
  if (!table) tables[context] = table = std::make_shared<const KernelTable>(context);
  return table;
}

KernelTable::KernelTable(cuda::Context context) : functions_(kDtypes * kKernelWays) {
  const cuda::Current current(context);
  for (int number = 0; number < kDtypes; ++number) {
    const auto dtype = static_cast<Dtype>(number);
    modules_.push_back(std::make_unique<cuda::Kernels>(context, fatbin(dtype),
                                                       std::string("for ") + dtype_name(dtype)));
    for (int way = 0; way < kKernelWays; ++way) {
      functions_[index(dtype, static_cast<Way>(way))] = modules_.back()->function(kWayNames[way]);
    }
    scales_.push_back(modules_.back()->function("scale"));
  }
  modules_.push_back(std::make_unique<cuda::Kernels>(context, message_fatbin(), "of messages"));
  messages_ = modules_.back()->function("messages");
}

}  // namespace railgauge::gpu
