// SPDX-License-Identifier: Apache-2.0
// Kernels by their names, WAY_OPERATOR, in the module of an element type.
#include "channel_kernels.h"
#include "exchange_kernels.h"
#include "fake.h"

namespace railgauge::cuda {

namespace {

constexpr const char *kExchanges[] = {"low_latency", "full_lines", "push"}, *kRing = "ring",
                     *kTree = "tree", *kOps[] = {"sum", "prod", "min", "max"};

struct Named {
  std::string way;
  Redop op;
};

std::optional<Named> read(const std::string& name) {
  const std::size_t end = name.rfind('_');
  if (end == name.npos) return std::nullopt;
  for (int op = 0; op < 4; ++op) {
    if (name.substr(end + 1) == kOps[op]) return Named{name.substr(0, end), static_cast<Redop>(op)};
  }
  return std::nullopt;
}

bool is_exchange(const Named& named) {
  for (const char* way : kExchanges) {
    if (named.way == way) return true;
  }
  return false;
}

template <class Arguments>
Arguments only(void** parameters) {
  return *static_cast<const Arguments*>(parameters[0]);
}

}  // namespace

bool is_kernel(const std::string& name, std::optional<Dtype> dtype) {
  const std::optional<Named> named = read(name);
  return dtype && named && (is_exchange(*named) || named->way == kRing || named->way == kTree);
}

Work kernel(const std::string& name, std::optional<Dtype> dtype, void** parameters) {
  const Named named = *read(name);
  if (is_exchange(named)) {
    return [=, arguments = only<gpu::Arguments>(parameters)] {
      gpu::run_exchange(arguments, *dtype, named.op);
    };
  }
  return [=, arguments = only<gpu::ChannelArguments>(parameters)] {
    (named.way == kRing ? gpu::run_ring : gpu::run_tree)(arguments, *dtype, named.op);
  };
}

}  // namespace railgauge::cuda
