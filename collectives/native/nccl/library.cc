// SPDX-License-Identifier: Apache-2.0
#include "collectives/native/nccl/library.h"

#include <dlfcn.h>

namespace railgauge::nccl {

namespace {

constexpr int kOldest = 21003;  // the first with averages and bfloat16 for all: 2.10.3

template <class Member>
void resolve(void* library, const char* symbol, Member& member) {
  member = reinterpret_cast<Member>(dlsym(library, symbol));
}

constexpr Result kRemoteError = 6;  // the rank that failed reports the reason

// 2.8 and before count 2804, later ones 20903.
std::string spelled(int code) {
  const int unit = code < 10000 ? 1000 : 10000;
  return std::to_string(code / unit) + "." + std::to_string(code % unit / 100) + "." +
         std::to_string(code % 100);
}

}  // namespace

// It stays open: NCCL has threads of its own.
Library::Library(const std::string& path) : path_(path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw Error(ErrorCode::kSystem, std::string("no NCCL: ") + dlerror());
#define RAILGAUGE_NCCL_RESOLVE(type, name, symbol, parameters) resolve(library, #symbol, name);
#define RAILGAUGE_NCCL_REQUIRE(type, name, symbol, parameters) \
  if (!name)                                                   \
    throw Error(ErrorCode::kSystem, path + " has no " #symbol ": it is not NCCL 2.10 or later");
  RAILGAUGE_NCCL_FUNCTIONS(RAILGAUGE_NCCL_RESOLVE)
  RAILGAUGE_NCCL_LATER_FUNCTIONS(RAILGAUGE_NCCL_RESOLVE)
  RAILGAUGE_NCCL_FUNCTIONS(RAILGAUGE_NCCL_REQUIRE)
#undef RAILGAUGE_NCCL_RESOLVE
#undef RAILGAUGE_NCCL_REQUIRE
  check(get_version(&version_), "asking NCCL for its version");
  need(version_ >= kOldest, "this engine", "2.10.3");
}

std::string Library::version_text() const { return spelled(version_); }

void Library::check(Result result, const std::string& what, Comm comm) const {
  if (result == 0) return;
  const char* detail = last_error ? last_error(comm) : nullptr;
  throw Error(result == kRemoteError ? ErrorCode::kAborted : ErrorCode::kSystem,
              what + ": NCCL: " + error_text(result) +
                  (detail && *detail ? std::string(": ") + detail : ""));
}

void Library::need(bool there, const std::string& what, const char* since) const {
  if (there) return;
  throw Error(ErrorCode::kSystem,
              what + " needs NCCL " + since + " or later, and " + path_ + " is " + version_text());
}

}  // namespace railgauge::nccl
