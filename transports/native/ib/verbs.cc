// SPDX-License-Identifier: Apache-2.0
#include "transports/native/ib/verbs.h"

#include <dlfcn.h>

#include <cstdlib>

namespace railgauge::ib {

namespace {

constexpr const char* kLibrary = "libibverbs.so.1";

template <class Member>
void resolve(void* library, const char* symbol, const char* version, Member& member) {
  void* found = dlvsym(library, symbol, version);
  if (!found) {
    throw Error(ErrorCode::kSystem, std::string(kLibrary) + " has no " + symbol + " of " + version +
                                        ": rdma-core 28 or newer is needed");
  }
  member = reinterpret_cast<Member>(found);
}

}  // namespace

const Verbs& Verbs::get() {
  static const Verbs verbs;
  return verbs;
}

Verbs::Verbs() {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    throw Error(ErrorCode::kSystem,
                std::string("no RDMA library (rdma-core, libibverbs1): ") + dlerror());
  }
#define RAILGAUGE_VERBS_RESOLVE(result, name, version, parameters) \
  resolve(library, "ibv_" #name, #version, name);
  RAILGAUGE_VERBS_FUNCTIONS(RAILGAUGE_VERBS_RESOLVE)
#undef RAILGAUGE_VERBS_RESOLVE
  reg_dmabuf_mr = reinterpret_cast<decltype(reg_dmabuf_mr)>(
      dlvsym(library, "ibv_reg_dmabuf_mr", "IBVERBS_1.12"));
  // Before anything is registered: a child of fork() must not inherit registered pages. With
  // kernels from 5.12 on, which copy them for the child, it does nothing.
  if (void* fork_init = dlvsym(library, "ibv_fork_init", "IBVERBS_1.1")) {
    reinterpret_cast<int (*)()>(fork_init)();
  }
}

Error verbs_error(const std::string& what, int error) {
  return Error(ErrorCode::kSystem, what + ": " + std::strerror(std::abs(error)));
}

}  // namespace railgauge::ib
