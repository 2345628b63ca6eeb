// SPDX-License-Identifier: Apache-2.0
// NVIDIA's libnccl, opened at run time: the installed one is measured. The few
// types and numbers are those of nccl.h; names are the functions' own.
#pragma once

#include <cstddef>
#include <string>

#include "transports/native/cuda/driver.h"
#include "transports/native/error.h"

namespace railgauge::nccl {

using Result = int;
using Type = int;
using Op = int;
using Comm = struct ncclComm*;
using Window = struct ncclWindow_vidmem*;
using Stream = cuda::Stream;
struct UniqueId {
  char bytes[128];
};

// Each is a member of Library: X(type, name there, symbol, parameters). Those of 2.10 and later.
#define RAILGAUGE_NCCL_FUNCTIONS(X)                                                               \
  X(Result, get_version, ncclGetVersion, (int*))                                                  \
  X(const char*, error_text, ncclGetErrorString, (Result))                                        \
  X(Result, unique_id, ncclGetUniqueId, (UniqueId*))                                              \
  X(Result, init, ncclCommInitRank, (Comm*, int, UniqueId, int))                                  \
  X(Result, destroy, ncclCommDestroy, (Comm))                                                     \
  X(Result, abort, ncclCommAbort, (Comm))                                                         \
  X(Result, async_error, ncclCommGetAsyncError, (Comm, Result*))                                  \
  X(Result, group_start, ncclGroupStart, ())                                                      \
  X(Result, group_end, ncclGroupEnd, ())                                                          \
  X(Result, all_reduce, ncclAllReduce, (const void*, void*, std::size_t, Type, Op, Comm, Stream)) \
  X(Result, all_gather, ncclAllGather, (const void*, void*, std::size_t, Type, Comm, Stream))     \
  X(Result, reduce_scatter, ncclReduceScatter,                                                    \
    (const void*, void*, std::size_t, Type, Op, Comm, Stream))                                    \
  X(Result, broadcast, ncclBroadcast, (const void*, void*, std::size_t, Type, int, Comm, Stream)) \
  X(Result, reduce, ncclReduce, (const void*, void*, std::size_t, Type, Op, int, Comm, Stream))   \
  X(Result, send, ncclSend, (const void*, std::size_t, Type, int, Comm, Stream))                  \
  X(Result, receive, ncclRecv, (void*, std::size_t, Type, int, Comm, Stream))

// Those of later releases: null where this one lacks them.
#define RAILGAUGE_NCCL_LATER_FUNCTIONS(X)                                            \
  X(const char*, last_error, ncclGetLastError, (Comm))                    /* 2.13 */ \
  X(Result, allocate, ncclMemAlloc, (void**, std::size_t))                /* 2.19 */ \
  X(Result, free, ncclMemFree, (void*))                                   /* 2.19 */ \
  X(Result, enroll, ncclCommRegister, (Comm, void*, std::size_t, void**)) /* 2.19 */ \
  X(Result, withdraw, ncclCommDeregister, (Comm, void*))                  /* 2.19 */ \
  X(Result, open_window, ncclCommWindowRegister,                                     \
    (Comm, void*, std::size_t, Window*, int))                       /* 2.27 */       \
  X(Result, close_window, ncclCommWindowDeregister, (Comm, Window)) /* 2.27 */       \
  X(Result, all_to_all, ncclAlltoAll,                                                \
    (const void*, void*, std::size_t, Type, Comm, Stream)) /* 2.28 */                \
  X(Result, gather, ncclGather,                                                      \
    (const void*, void*, std::size_t, Type, int, Comm, Stream)) /* 2.28 */           \
  X(Result, scatter, ncclScatter,                                                    \
    (const void*, void*, std::size_t, Type, int, Comm, Stream)) /* 2.28 */

class Library {
 public:
  // By its path, or its name for the loader. Error (kSystem): it does not exist, or is not libnccl.
  explicit Library(const std::string& path);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

#define RAILGAUGE_NCCL_MEMBER(type, name, symbol, parameters) type(*name) parameters = nullptr;
  RAILGAUGE_NCCL_FUNCTIONS(RAILGAUGE_NCCL_MEMBER)
  RAILGAUGE_NCCL_LATER_FUNCTIONS(RAILGAUGE_NCCL_MEMBER)
#undef RAILGAUGE_NCCL_MEMBER

  // As NCCL_VERSION counts: 22809 is 2.28.9.
  int version() const { return version_; }
  std::string version_text() const;

  // Error (kSystem; kAborted where another rank failed) unless a call succeeded: `what` names the
  // step.
  void check(Result result, const std::string& what, Comm comm = nullptr) const;
  // Error (kSystem) if this release lacks the function; `since` is the first that has it.
  void need(bool there, const std::string& what, const char* since) const;

 private:
  std::string path_;
  int version_ = 0;
};

}  // namespace railgauge::nccl
