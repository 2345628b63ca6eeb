// SPDX-License-Identifier: Apache-2.0
#include "transports/native/cuda/exported.h"

#include <unistd.h>

namespace railgauge::cuda {

namespace {

constexpr int kAsDmaBuf = 1;  // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD

}  // namespace

DmaBuf exported(Context context, Pointer pointer, std::size_t size) {
  const Driver& driver = Driver::get();
  if (!driver.memory_handle) {
    throw Error(ErrorCode::kSystem,
                "libcuda.so.1 has no cuMemGetHandleForAddressRange: DMA-BUF needs CUDA 11.7");
  }
  const auto page = static_cast<Pointer>(sysconf(_SC_PAGESIZE));
  const Pointer begin = pointer & ~(page - 1), end = (pointer + size + page - 1) & ~(page - 1);
  const Current current(context);
  int fd = -1;
  driver.check(driver.memory_handle(&fd, begin, end - begin, kAsDmaBuf, 0),
               "cuMemGetHandleForAddressRange of " + std::to_string(end - begin) + " bytes");
  return {Fd(fd), static_cast<std::size_t>(pointer - begin)};
}

}  // namespace railgauge::cuda
